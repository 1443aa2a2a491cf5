"""Comparisons that would prove nothing: refused, by name."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from npuify.language import phrase

from .matching import Pairs, slots
from .result import Difference, Refused
from .training import starting_weights

if TYPE_CHECKING:
    from collections.abc import Collection

    from .metrics import Meter
    from .model import Capture, Rank

ALLOWABLE = ("same-device", "different-ranks", "different-dropout", "little-matches")
"""Refusals that a person may overrule: the comparison then proves less, but what it says is right."""
_OTHER_DEVICE = "Capture on the other device; --allow same-device compares two versions of a program."
_OUTSIDE = (
    "B opens an NPU, on which functions alone run, and its layers are called outside of any tf.function: make the step "
    "one, before the model is called."
)
_MOST = 0.5
_SAME_ROWS = 0.5


def before_matching(a: Capture, b: Capture, allow: Collection[str] = ()) -> list[str]:
    """What can be said without looking at the numbers.

    Returns:
        Remarks on what was overruled.

    Raises:
        Refused: the same run twice, the same kind of device, other seeds, other numbers of processes.
    """
    remarks = []
    if a.run and a.run == b.run:
        raise Refused("same-run", "A and B are the same run, which agrees with itself")
    if a.device == b.device and a.device:
        text = phrase("both ran on {device}: this shows nothing about another device", device=a.device)
        if "same-device" not in allow:
            raise Refused("same-device", text, _OUTSIDE if _is_on_host(b) else _OTHER_DEVICE)
        remarks.append(f"{text[0].upper()}{text[1:]} (allowed).")
    _seeds(a, b)
    if len(a.ranks) != len(b.ranks):
        text = phrase("{number} processes in A, {number2} in B", number=len(a.ranks), number2=len(b.ranks))
        if "different-ranks" not in allow:
            raise Refused(
                "different-ranks",
                text,
                "Run both with the same number of processes, or use --allow different-ranks to compare the first ones.",
            )
        remarks.append(phrase("{text}: only equal ranks are compared (allowed).", text=text))
    drop = (a.settings.get("dropout"), b.settings.get("dropout"))
    if drop[0] != drop[1] and None not in drop:
        text = phrase("dropout was {drop!r} in A and {drop2!r} in B", drop=drop[0], drop2=drop[1])
        if "different-dropout" not in allow:
            raise Refused("different-dropout", text, "Capture both with the same --dropout.")
        remarks.append(f"{text} (allowed).")
    elif drop[0] == "keep":
        remarks.append("Dropout was kept (--dropout keep): two devices draw different masks.")
    return remarks


def _is_on_host(capture: Capture) -> bool:
    """Whether a program on TensorFlow 2 has an NPU, and computes on the host."""
    process = capture.ranks[0].process
    return bool(process.get("tensorflow")) and "npu" in process.get("devices", {}) and capture.device == "cpu"


def _seeds(a: Capture, b: Capture) -> None:
    ours, theirs = a.settings.get("seed"), b.settings.get("seed")
    advice = "Capture both with the same --seed, and make the program set the same one."
    if ours is not None and theirs is not None and ours != theirs:
        raise Refused(
            "different-seeds", phrase("the seed was {ours} in A and {theirs} in B", ours=ours, theirs=theirs), advice
        )
    for left, right in zip(a.ranks, b.ranks, strict=False):
        if left.seeds != right.seeds and left.seeds and right.seeds and left.seeds[0] != right.seeds[0]:
            raise Refused(
                "different-seeds",
                phrase(
                    "the program set the seed {seeds} in A and {seeds2} in B",
                    seeds=left.seeds[0],
                    seeds2=right.seeds[0],
                ),
                advice,
            )


def after_matching(a: Rank, b: Rank, pairs: Pairs, meter: Meter, allow: Collection[str] = ()) -> list[Difference]:
    """What the numbers say about whether the runs can be compared.

    Returns:
        Differences that make all others senseless: the order of the data, some of the starting weights.

    Raises:
        Refused: nothing or little belongs together, other weights, other data.
    """
    modules = [pair for pair in pairs.calls if not pair[0].operator]
    # A dump of operators alone has no modules on either side.
    without = all(call.operator for rank in (a, b) for call in rank.calls)
    if not modules and not (without and pairs.calls):
        names = ", ".join(_roots(a)[:3]), ", ".join(_roots(b)[:3])
        raise Refused(
            "nothing-matches",
            phrase("they have no module in common: A calls {names}; B calls {names2}", names=names[0], names2=names[1]),
        )
    fewer = min(sum(not call.operator for call in rank.calls) for rank in (a, b))
    if 2 * len(modules) < fewer and "little-matches" not in allow:
        raise Refused(
            "little-matches",
            phrase(
                "{number} module calls are in both, of {fewer} in the shorter capture: too few to judge",
                number=len(modules),
                fewer=fewer,
            ),
            "Capture the same steps of the same model; --allow little-matches compares those.",
        )
    found = _weights(pairs, meter)
    return _data(a, b, pairs, meter) + found


def _roots(rank: Rank) -> list[str]:
    return list(dict.fromkeys(re.split(r"[./]", call.name)[0] for call in rank.calls))


def _weights(pairs: Pairs, meter: Meter) -> list[Difference]:
    different, count = starting_weights(pairs, meter)
    random = [one for one in different if one[0].tensor is not None and one[0].tensor.low != one[0].tensor.high]
    if count > 1 and len(random) > _MOST * count:
        names = ", ".join(value.name for value, _ in random[:3])
        raise Refused(
            "different-weights",
            phrase(
                "the models start from different weights: {number} of {count_} parameters differ ({names}, …)",
                number=len(random),
                count_=count,
                names=names,
            ),
            "Load the same checkpoint on both sides, or set the seed before creating the model.",
        )
    found = []
    for value, metrics in different:
        found.append(
            Difference(
                kind="weights",
                severity="error",
                name=value.name.rpartition(".")[0],
                message=phrase(
                    "{name} starts from different values: relative error {norm_error:.2g}",
                    name=value.name,
                    norm_error=metrics.norm_error,
                )
                if metrics.problem != "shape"
                else phrase(
                    "{name} has the shape {list} in A, {list2} in B",
                    name=value.name,
                    list=list(metrics.shapes[0]),
                    list2=list(metrics.shapes[1]),
                ),
                at=value.at,
                step=0,
                metrics=metrics,
            )
        )
    return found[:8]


def _data(a: Rank, b: Rank, pairs: Pairs, meter: Meter) -> list[Difference]:
    """The first model's inputs: the same rows in the same order."""
    first = next((call.name for call, _ in pairs.calls if not call.within and not call.operator), "")
    rows_a: Counter[float] = Counter()
    rows_b: Counter[float] = Counter()
    wrong: tuple[int, int, str] | None = None
    for call, other in pairs.calls:
        if call.name != first or call.within or call.operator:
            continue
        for left, right in slots(call.inputs, other.inputs):
            if not left.rows or not right.rows:
                continue
            rows_a.update(map(_rounded, left.rows))
            rows_b.update(map(_rounded, right.rows))
            metrics = meter.measure(left, right)
            if wrong is None and metrics.norm_error > 0.02 and metrics.problem != "complement":
                wrong = (call.step, call.start, left.slot)
    if wrong is None:
        return []
    shared = sum((rows_a & rows_b).values()) / max(1, min(sum(rows_a.values()), sum(rows_b.values())))
    loaders = _loaders(a, b)
    if shared >= _SAME_ROWS or loaders:
        text = phrase(
            "{shared:.0%} of the rows of {first}'s input are the same, in a different order", shared=shared, first=first
        )
        return [
            Difference(
                kind="data-order",
                severity="error",
                name=first,
                message=loaders or text,
                where=wrong[2],
                step=wrong[0],
                at=wrong[1],
                phase="train",
            )
        ]
    raise Refused(
        "different-data",
        phrase(
            "the data differs from step {wrong} on: of the rows of {first}'s input {shared:.0%} are in both",
            wrong=wrong[0],
            first=first,
            shared=shared,
        ),
        "Use the same files in both runs, and shuffle on neither side or with the same generator.",
    )


def _loaders(a: Rank, b: Rank) -> str:
    for left, right in zip(a.loaders, b.loaders, strict=False):
        for key in ("sampler", "batch", "drop_last"):
            if left.get(key) != right.get(key):
                word = {"sampler": "samples with", "batch": "has the batch size", "drop_last": "has drop_last"}
                return phrase(
                    "data loader {left} {word} {get} in A and {get2} in B",
                    left=left["number"],
                    word=word[key],
                    get=left.get(key),
                    get2=right.get(key),
                )
    return ""


def _rounded(value: float) -> float:
    return float(f"{value:.4e}")
