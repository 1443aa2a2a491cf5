"""What the optimizers did: their settings, the gradients that they took, and how far they moved parameters."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Any, Literal

from npuify.language import commas, phrase
from npuify.verify.comparison.metrics import coarser, spacing
from npuify.verify.comparison.result import Difference
from npuify.verify.comparison.training import NAMED, common
from npuify.verify.comparison.values import numpy

if TYPE_CHECKING:
    from npuify.verify.comparison.matching import Pairs
    from npuify.verify.comparison.metrics import Meter
    from npuify.verify.comparison.model import Rank, Tensor

_SAME_FACTOR = 0.02
"""How far factors of several parameters may lie apart to count as one."""
_STEP_FACTOR = 0.2
"""How far the sizes of two optimizers' steps may lie apart: with Adam a tiny gradient's sign moves a whole step."""


def optimizers(a: Rank, b: Rank) -> list[Difference]:
    """Settings of optimizers that differ, the learning rate first."""
    found: list[Difference] = []
    told: set[tuple[Any, ...]] = set()
    theirs = {(one.step, one.number): one for one in b.optimizers}
    for ours in a.optimizers:
        other = theirs.get((ours.step, ours.number))
        if other is None:
            continue
        name = f"optimizer {ours.number}" if ours.number else "the optimizer"

        def add(message: str, step: int = ours.step, at: int = ours.at, name: str = name) -> None:
            found.append(
                Difference(
                    kind="optimizer", severity="error", name=name, message=message, step=step, at=at, phase="train"
                )
            )

        if len(ours.groups) != len(other.groups) and ("groups", ours.number) not in told:
            told.add(("groups", ours.number))
            add(
                phrase(
                    "{number} groups of parameters in A, {number2} in B",
                    number=len(ours.groups),
                    number2=len(other.groups),
                )
            )
        for index, ((left, _), (right, _)) in enumerate(zip(ours.groups, other.groups, strict=False)):
            for key in sorted(set(left) & set(right), key=lambda word: (word != "lr", word)):
                if key in _MEANINGLESS or (key, index, ours.number) in told or _same(left[key], right[key]):
                    continue
                told.add((key, index, ours.number))
                add(_setting(key, left[key], right[key], index if len(ours.groups) > 1 else None))
    return found


_MEANINGLESS = frozenset(
    ("foreach", "fused", "capturable", "differentiable", "initial_lr", "name", "decoupled_weight_decay")
)
"""Settings of how an optimizer computes, not of what; or from which others follow."""


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool) or isinstance(left, str) or isinstance(right, str):
        return bool(left == right)
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return math.isclose(left, right, rel_tol=1e-5, abs_tol=1e-15)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)


def _setting(key: str, left: Any, right: Any, group: int | None) -> str:
    name = "the learning rate (lr)" if key == "lr" else key
    of = phrase(" of group {group}", group=group) if group is not None else ""
    numbers = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in (left, right))
    times = phrase(": B's is {value:.4g} times A's", value=right / left) if numbers and left and right else ""
    return phrase(
        "{name}{of} is {left} in A and {right} in B{times}", name=name, of=of, left=left, right=right, times=times
    )


def used_gradients(pairs: Pairs, meter: Meter, a: Rank, b: Rank) -> list[Difference]:
    """Whether what the optimizers take is backward's gradients times one factor on one side."""
    by_step: dict[int, list[tuple[float, str, int]]] = {}
    scales = _scales(a, b)
    for (kind, when, name, step, _), (ours, theirs) in pairs.values.items():
        if kind != "gradient" or when != "used" or ours.tensor is None or theirs.tensor is None:
            continue
        if not (ours.tensor.norm and theirs.tensor.norm):
            continue
        metrics = meter.measure(ours.tensor, theirs.tensor)
        if metrics.cosine is not None and metrics.cosine < 0.9:
            continue
        by_step.setdefault(step, []).append((theirs.tensor.norm / ours.tensor.norm, name, ours.at))
    errors = gradient_errors(pairs, meter, scales)
    for step in sorted(by_step):
        rows = by_step[step]
        factors = [factor for factor, _, _ in rows]
        middle = statistics.median(factors)
        near = sum(abs(factor / middle - 1) <= _SAME_FACTOR for factor in factors)
        if abs(middle - 1) <= 2 * _SAME_FACTOR + errors.get(step, 0.0) or near < 0.7 * len(factors):
            continue
        return [
            Difference(
                kind="gradient-scale",
                severity="error",
                name="the optimizer",
                message=phrase("the optimizer's gradients are {middle:.6g} times A's, in all parameters", middle=middle)
                + _why_scaled(middle, scales.get(step, (1.0, 1.0))),
                step=step,
                phase="train",
                at=min(at for _, _, at in rows),
            )
        ]
    return []


def _scales(a: Rank, b: Rank) -> dict[int, tuple[float, float]]:
    """The factors before the last loss of each step, of both sides."""
    scales: dict[int, tuple[float, float]] = {}
    for step in {loss.step for loss in a.losses}:
        last = [next((one.scale for one in reversed(rank.losses) if one.step == step), 1.0) for rank in (a, b)]
        scales[step] = (last[0], last[1])
    return scales


def gradient_errors(pairs: Pairs, meter: Meter, scales: dict[int, tuple[float, float]]) -> dict[int, float]:
    """How wrong gradients are as backward gives them, by step: so much their sizes may differ, and what follows."""
    rows: dict[int, list[float]] = {}
    for (kind, when, _, step, _), (a, b) in pairs.values.items():
        if kind == "gradient" and when == "backward" and a.tensor is not None and b.tensor is not None:
            error = meter.measure(a.tensor, b.tensor, "", scales.get(step, (1.0, 1.0))).norm_error
            if math.isfinite(error):
                rows.setdefault(step, []).append(error)
    return {step: min(1.0, statistics.median(found)) for step, found in rows.items()}


def _why_scaled(factor: float, scales: tuple[float, float]) -> str:
    if scales[1] != 1.0 and abs(factor / scales[1] - 1) < _SAME_FACTOR:
        return phrase(": B's loss was scaled by {scales:g}, and its gradients were not unscaled", scales=scales[1])
    if scales[0] != 1.0 and abs(factor * scales[0] - 1) < _SAME_FACTOR:
        return phrase(": A's loss was scaled by {scales:g}, and its gradients were not unscaled", scales=scales[0])
    if scales[0] != 1.0 or scales[1] != 1.0:
        return ": a scaler is at work; clipping before unscale_() does this"
    return ""


def updates(pairs: Pairs, meter: Meter, a: Rank, b: Rank) -> list[Difference]:
    """Whether the optimizers' steps are of one size, and move the same parameters."""
    before: dict[tuple[str, int], tuple[Tensor, Tensor]] = {}
    rows: dict[int, list[tuple[float, str, int]]] = {}
    lost: dict[int, list[tuple[float, str, int]]] = {}
    """Where a step is smaller than what the coarser type of both sides can hold."""
    still: list[tuple[int, str, int, str]] = []
    coarse: list[tuple[int, str, int, str]] = []
    ordered = sorted(pairs.values.items(), key=lambda item: item[1][0].at)
    for (kind, when, name, step, _), (one, two) in ordered:
        if kind != "parameter" or one.tensor is None or two.tensor is None:
            continue
        if when == "after":
            kept = before.get((name, step))
            sizes = _moved(kept, (one.tensor, two.tensor)) if kept is not None else None
            if sizes is not None:
                ours, theirs = sizes
                if (ours == 0) != (theirs == 0):
                    types = (one.tensor.dtype, two.tensor.dtype)
                    types = types if ours == 0 else (types[1], types[0])
                    # A step smaller than what the coarser type can hold is lost there.
                    small = types[0] != types[1] and coarser(*types) == types[0]
                    (coarse if small else still).append((step, name, one.at, "A" if ours == 0 else "B"))
                elif ours:
                    (rows if _held(kept, ours) else lost).setdefault(step, []).append((theirs / ours, name, one.at))
        before[(name, step + (when == "after"))] = (one.tensor, two.tensor)
    found = [_still(still, "error")] if still else []
    if coarse:
        found.append(_still(coarse, "warning"))
    errors = gradient_errors(pairs, meter, _scales(a, b))
    other_size = next(
        filter(None, (_other_size(step, rows[step], errors.get(step, 0.0)) for step in sorted(rows))), None
    )
    if other_size is not None:
        found.append(other_size)
    if lost and not rows and not any(one.severity == "warning" for one in found):
        step = min(lost)
        found.append(
            Difference(
                kind="update",
                severity="warning",
                name="the optimizer",
                message=phrase(
                    "its steps are too small for the less precise of the two types ({number} parameters)",
                    number=len(lost[step]),
                ),
                step=step,
                phase="train",
                at=min(at for _, _, at in lost[step]),
            )
        )
    return found


def _other_size(step: int, moved: list[tuple[float, str, int]], error: float) -> Difference | None:
    """The first step in which B's optimizer goes further or less far than A's, by more than its gradients' error."""
    middle = statistics.median(factor for factor, _, _ in moved)
    if abs(middle - 1) <= _STEP_FACTOR + error:
        return None
    return Difference(
        kind="update",
        severity="error",
        name="the optimizer",
        message=phrase(
            "a parameter moves {middle:.4g} times as far as in A (median of {number})",
            middle=middle,
            number=len(moved),
        ),
        step=step,
        phase="train",
        at=min(at for _, _, at in moved),
    )


def _held(before: tuple[Tensor, Tensor] | None, step: float) -> bool:
    """Whether a step is larger than what the coarser of two types tells apart."""
    if before is None or not before[0].norm or not before[0].count or before[0].dtype == before[1].dtype:
        return True
    old = before[0].load() if before[0].load is not None else None
    kept = len(old) if old is not None else before[0].count
    size = before[0].norm * math.sqrt(kept / before[0].count)
    return step > spacing(coarser(before[0].dtype, before[1].dtype)) * size


def _still(rows: list[tuple[int, str, int, str]], severity: Literal["error", "warning"]) -> Difference:
    step, _, at, side = min(rows)
    names = [name for number, name, _, _ in rows if number == step]
    more = phrase(" and {value} more", value=len(names) - NAMED) if len(names) > NAMED else ""
    why = "" if severity == "error" else ", whose type is not precise enough for a step of this size"
    return Difference(
        kind="frozen",
        severity=severity,
        name=common([name.rpartition(".")[0] for name in names]),
        message=phrase(
            "is not updated in {side}{why}: {names}{more}", side=side, why=why, names=commas(names[:NAMED]), more=more
        ),
        step=step,
        phase="train",
        at=at,
    )


def _moved(before: tuple[Tensor, Tensor], after: tuple[Tensor, Tensor]) -> tuple[float, float] | None:
    np = numpy()
    sizes = []
    for old, new in zip(before, after, strict=True):
        left = old.load() if old.load is not None else None
        right = new.load() if new.load is not None else None
        if left is None or right is None or left.size != right.size:
            return None
        sizes.append(float(np.linalg.norm(right.astype(np.float64) - left.astype(np.float64))))
    return sizes[0], sizes[1]
