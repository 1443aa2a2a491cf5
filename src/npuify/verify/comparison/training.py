"""What the two runs learned: parameters, modes, optimizers, the gradients that these took, the size of their steps."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Any, Literal

from npuify.knowledge import tolerances

from .forward import PROGRAM
from .forward import told as told_of
from .limits import is_fault, limit_of
from .matching import plain
from .metrics import coarser, is_floating, spacing
from .result import Difference, LossPair
from .values import numpy

if TYPE_CHECKING:
    from .forward import Forward
    from .matching import Pairs
    from .metrics import Meter, Metrics
    from .model import Rank, Tensor, Value

_SAME_FACTOR = 0.02
"""How far factors of several parameters may lie apart to count as one."""
_STEP_FACTOR = 0.2
"""How far the sizes of two optimizers' steps may lie apart: with Adam a tiny gradient's sign moves a whole step."""
_NAMED = 3


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
                message=f"{words[a.training]} mode in A, {words[b.training]} mode in B",
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
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return [
        Difference(
            kind="frozen",
            severity="error",
            name=_common(modules),
            message=f"no gradient in {side}: {', '.join(names[:_NAMED])}{more}",
            step=step,
            phase="train",
            # What has no gradient changes the size of all others where they are clipped: it comes first.
            at=min([max(1, rows[0][0]), *begun]),
        )
    ]


def _members(rank: Rank) -> set[str]:
    return {plain(name) for step in rank.optimizers for _, names in step.groups for name in names}


def _common(names: list[str]) -> str:
    """The innermost module that holds all of some."""
    parts = [name.split(".") for name in names]
    shared = []
    for level in zip(*parts, strict=False):
        if len(set(level)) > 1:
            break
        shared.append(level[0])
    return ".".join(shared) or names[0]


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
            add(f"{len(ours.groups)} groups of parameters in A, {len(other.groups)} in B")
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
    of = f" of group {group}" if group is not None else ""
    numbers = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in (left, right))
    times = f": B's is {right / left:.4g} times A's" if numbers and left and right else ""
    return f"{name}{of} is {left} in A and {right} in B{times}"


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
                message=f"the optimizer's gradients are {middle:.6g} times A's, in all parameters"
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
        return f": B's loss was scaled by {scales[1]:g}, and its gradients were not unscaled"
    if scales[0] != 1.0 and abs(factor * scales[0] - 1) < _SAME_FACTOR:
        return f": A's loss was scaled by {scales[0]:g}, and its gradients were not unscaled"
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
    for step in sorted(rows):
        middle = statistics.median(factor for factor, _, _ in rows[step])
        if abs(middle - 1) > _STEP_FACTOR + errors.get(step, 0.0):
            found.append(
                Difference(
                    kind="update",
                    severity="error",
                    name="the optimizer",
                    message=f"a parameter moves {middle:.4g} times as far as in A (median of {len(rows[step])})",
                    step=step,
                    phase="train",
                    at=min(at for _, _, at in rows[step]),
                )
            )
            break
    if lost and not rows and not any(one.severity == "warning" for one in found):
        step = min(lost)
        found.append(
            Difference(
                kind="update",
                severity="warning",
                name="the optimizer",
                message=f"its steps are too small for the less precise of the two types ({len(lost[step])} parameters)",
                step=step,
                phase="train",
                at=min(at for _, _, at in lost[step]),
            )
        )
    return found


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
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    why = "" if severity == "error" else ", whose type is not precise enough for a step of this size"
    return Difference(
        kind="frozen",
        severity=severity,
        name=_common([name.rpartition(".")[0] for name in names]),
        message=f"is not updated in {side}{why}: {', '.join(names[:_NAMED])}{more}",
        step=step,
        phase="train",
        at=at,
    )


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
                    message=f"{name.rpartition('.')[2]}: {told_of(metrics, known, limit_of(metrics))}",
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
                    message=f"the loss is {loss.value:.6g} in A and {other.value:.6g} in B",
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
