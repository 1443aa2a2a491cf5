"""What the two runs learned: parameters, modes, optimizers, the gradients that these took, the size of their steps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from npuify.knowledge import tolerances
from npuify.language import commas, phrase
from npuify.verify.comparison.forward import PROGRAM, describe_error
from npuify.verify.comparison.limits import is_fault, limit_of
from npuify.verify.comparison.matching import plain
from npuify.verify.comparison.metrics import is_floating
from npuify.verify.comparison.result import Difference, LossPair

if TYPE_CHECKING:
    from npuify.verify.comparison.forward import Forward
    from npuify.verify.comparison.matching import Pairs
    from npuify.verify.comparison.metrics import Meter, Metrics
    from npuify.verify.comparison.model import Rank, Value

NAMED = 3


def parameter_errors(pairs: Pairs, meter: Meter) -> dict[tuple[int, str], float]:
    """The error of each module's own parameters as a step begins, by step and name of the module."""
    sums: dict[tuple[int, str], list[float]] = {}
    for (kind, when, name, step, _), (a, b) in pairs.values.items():
        if kind == "gradient" or when not in ("start", "after") or a.tensor is None or b.tensor is None:
            continue
        metrics = meter.measure(a.tensor, b.tensor)
        error = metrics.norm_error if math.isfinite(metrics.norm_error) else 1.0
        norm = a.tensor.norm or 0.0
        entry = sums.setdefault((step + (when == "after"), name.rpartition(".")[0]), [0.0, 0.0])
        entry[0] += (error * norm) ** 2
        entry[1] += norm**2
    return {key: math.sqrt(wrong / whole) if whole else 0.0 for key, (wrong, whole) in sums.items()}


def starting_weights(pairs: Pairs, meter: Meter) -> tuple[list[tuple[Value, Metrics]], int]:
    """Parameters that start from other values, and how many there are in all that could."""
    different, count = [], 0
    for (kind, when, _, _, _), (a, b) in pairs.values.items():
        if kind == "gradient" or when != "start" or a.tensor is None or b.tensor is None:
            continue
        constant = a.tensor.low == a.tensor.high and b.tensor.low == b.tensor.high
        metrics = meter.measure(a.tensor, b.tensor)
        count += not constant
        if metrics.norm_error > limit_of(metrics):
            different.append((a, metrics))
    return different, count


def modes(pairs: Pairs) -> list[Difference]:
    """Modules that are in training mode on one side only: the outermost of each."""
    found: list[Difference] = []
    told: set[str] = set()
    for a, b in pairs.calls:
        if a.operator or a.training == b.training or a.phase != "train":
            continue
        if any(a.name == name or a.name.startswith(f"{name}.") for name in told):
            continue
        told.add(a.name)
        words = {True: "training", False: "evaluation"}
        found.append(
            Difference(
                kind="mode",
                severity="error",
                name=a.name,
                message=phrase(
                    "{words} mode in A, {words2} mode in B", words=words[a.training], words2=words[b.training]
                ),
                step=a.step,
                phase=a.phase,
                at=a.start,
                place=a.place,
            )
        )
    return found


def frozen(pairs: Pairs, a: Rank, b: Rank) -> list[Difference]:
    """Parameters that get a gradient on one side only, as one difference for each step in which that begins."""
    by_step: dict[int, list[tuple[int, str, str]]] = {}
    for (kind, when, name, step, _), (ours, theirs) in pairs.values.items():
        if kind == "gradient" and when == "used" and (ours.tensor is None) != (theirs.tensor is None):
            by_step.setdefault(step, []).append((ours.at, name, "B" if theirs.tensor is None else "A"))
    groups_a, groups_b = _members(a), _members(b)
    steps_a, steps_b = ({(one.step, one.number) for one in rank.optimizers} for rank in (a, b))
    for value, side, others, steps in (
        *((one, "B", groups_b, steps_b) for one in pairs.values_only_a),
        *((one, "A", groups_a, steps_a) for one in pairs.values_only_b),
    ):
        # A program that ended before its step froze nothing.
        stepped = (value.step, value.optimizer) in steps
        if value.kind == "gradient" and value.when == "used" and stepped and plain(value.name) not in others:
            by_step.setdefault(value.step, []).append((value.at if side == "B" else 0, value.name, side))
    if not by_step:
        return []
    step = min(by_step)
    rows = sorted(by_step[step])
    begun = [one.at for one in a.optimizers if one.step == step]
    modules = list(dict.fromkeys(name.rpartition(".")[0] for _, name, _ in rows))
    names = [name for _, name, _ in rows]
    side = rows[0][2]
    more = phrase(" and {value} more", value=len(names) - NAMED) if len(names) > NAMED else ""
    return [
        Difference(
            kind="frozen",
            severity="error",
            name=common(modules),
            message=phrase("no gradient in {side}: {names}{more}", side=side, names=commas(names[:NAMED]), more=more),
            step=step,
            phase="train",
            # What has no gradient changes the size of all others where they are clipped: it comes first.
            at=min([max(1, rows[0][0]), *begun]),
        )
    ]


def _members(rank: Rank) -> set[str]:
    return {plain(name) for step in rank.optimizers for _, names in step.groups for name in names}


def common(names: list[str]) -> str:
    """The innermost module that holds all of some."""
    parts = [name.split(".") for name in names]
    shared = []
    for level in zip(*parts, strict=False):
        if len(set(level)) > 1:
            break
        shared.append(level[0])
    return ".".join(shared) or names[0]


def buffers(pairs: Pairs, meter: Meter, forward: Forward) -> list[Difference]:
    """What modules keep besides parameters, such as running means: where nothing before explains how it differs."""
    given: dict[tuple[int, str], float] = {}
    sizes: dict[tuple[int, str], float] = {}
    for call, _ in pairs.calls:
        key = (call.step, call.name)
        frame = forward.frames.get(call.start)
        if frame is not None:
            given[key] = max(given.get(key, 0.0), frame.before)
        sizes[key] = max([sizes.get(key, 0.0), *(one.size for one in call.inputs if is_floating(one.dtype))])
    before: dict[str, float] = {}
    found: list[Difference] = []
    told: set[str] = set()
    for (kind, when, name, step, _), (a, b) in sorted(pairs.values.items(), key=lambda item: item[1][0].at):
        if kind != "buffer" or a.tensor is None or b.tensor is None:
            continue
        metrics = meter.measure(a.tensor, b.tensor)
        module = name.rpartition(".")[0]
        # A mean is as much more wrong than its terms as it is smaller: behind another norm it is rounding alone.
        cancelling = 1.0
        if a.tensor.low is not None and a.tensor.high is not None and a.tensor.low < 0 < a.tensor.high:
            cancelling = max(1.0, sizes.get((step, module), 0.0) / (a.tensor.size or 1.0))
        known = max(before.get(name, 0.0), given.get((step, module), 0.0) * cancelling)
        rounding = metrics.norm_error <= limit_of(metrics) * cancelling
        if when == "after" and module not in told and not rounding and is_fault(metrics, known):
            told.add(module)
            found.append(
                Difference(
                    kind="buffer",
                    severity="error",
                    name=module,
                    message=f"{name.rpartition('.')[2]}: {describe_error(metrics, known, limit_of(metrics))}",
                    step=step,
                    phase="train",
                    at=a.at,
                    error=metrics.norm_error if math.isfinite(metrics.norm_error) else None,
                    before=known,
                    limit=limit_of(metrics),
                    metrics=metrics,
                )
            )
        if math.isfinite(metrics.norm_error):
            before[name] = max(before.get(name, 0.0), metrics.norm_error)
    return found


def losses(a: Rank, b: Rank, forward: Forward | None = None) -> tuple[list[LossPair], list[Difference]]:
    """The loss of each backward pass on both sides, and the first that differs by more than what it is made from."""
    given = _given_to_loss(forward)
    theirs = {(loss.step, loss.number): loss for loss in b.losses}
    limit = tolerances.limit("any", "loss", "mean_relative_error")
    pairs: list[LossPair] = []
    found: list[Difference] = []
    for loss in a.losses:
        other = theirs.get((loss.step, loss.number))
        if other is None:
            continue
        finite = math.isfinite(loss.value) and math.isfinite(other.value)
        error = abs(other.value - loss.value) / max(abs(loss.value), 1e-12) if finite else math.inf
        if not finite and math.isfinite(loss.value) == math.isfinite(other.value):
            error = 0.0
        shown = error if math.isfinite(error) else 1e30
        pairs.append(LossPair(loss.step, loss.number, _shown(loss.value), _shown(other.value), shown))
        if error > max(limit, given.get(loss.step, 0.0)) and not found:
            found.append(
                Difference(
                    kind="loss" if finite else "overflow",
                    severity="error",
                    name=PROGRAM,
                    message=phrase(
                        "the loss is {value:.6g} in A and {value2:.6g} in B", value=loss.value, value2=other.value
                    ),
                    step=loss.step,
                    phase="train",
                    at=loss.at,
                    error=error if finite else None,
                    limit=limit,
                )
            )
    return pairs, found


def _given_to_loss(forward: Forward | None) -> dict[int, float]:
    """The error of what models gave the program, by step."""
    found: dict[int, float] = {}
    for frame in forward.frames.values() if forward is not None else ():
        if frame.a is not None and not frame.a.within and math.isfinite(frame.error):
            found[frame.a.step] = max(found.get(frame.a.step, 0.0), frame.error)
    return found


def _shown(value: float) -> float:
    return value if math.isfinite(value) else math.copysign(1e30, value if value == value else 1.0)
