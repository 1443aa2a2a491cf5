"""Follows the gradients, from the loss back to the data, and finds the first that nothing before it explains."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING

from npuify.language import phrase

from .forward import PROGRAM, Forward, describe_error
from .limits import gradient_limit, is_fault, limit_of
from .metrics import Meter, Metrics, is_floating, spacing
from .result import Difference, Point

if TYPE_CHECKING:
    from collections.abc import Callable

    from .matching import Pairs
    from .model import Call, Gradient, Rank, Value


_WEIGHTS = ("weight", "kernel", "embeddings")
"""Ends of the names of matrices, in PyTorch and in Keras."""


class Backward:
    """The walk through the gradients of one process."""

    def __init__(self, a: Rank, b: Rank, pairs: Pairs, meter: Meter, forward: Forward) -> None:
        self._pairs = pairs
        self._meter = meter
        self._frames = forward.frames
        self._apart = forward.apart
        self._scales = (_scale_at(a), _scale_at(b))
        self._calls = {call.start: call for call, _ in pairs.calls}
        self._lower = {call.start: call.autocast or other.autocast for call, other in pairs.calls}
        self._kinds = {name: module.kind for name, module in a.modules.items()}
        self._weights = {
            (key[3], key[2].rpartition(".")[0]): value.tensor
            for key, (value, _) in pairs.values.items()
            if key[:2] == ("gradient", "backward")
            and key[2].endswith((".weight", ".kernel"))
            and value.tensor is not None
        }
        """The gradient of each module's weight, by step and name."""
        self._of_name: dict[tuple[int, str], list[Call]] = {}
        for call, _ in pairs.calls:
            self._of_name.setdefault((call.step, call.name), []).append(call)
        self._errors = _forward_errors(forward) if _has_kinks(pairs) else {}
        self._given: dict[int, Metrics] = {}
        """Error of the gradient of each call's results, by the call's start."""
        self._around: dict[int, float] = {}
        """The largest absolute error of the gradients in each module's own code, by the module's start."""
        self.points: list[Point] = []
        self._worst = 0.0

    def walk(self) -> list[Difference]:
        """The gradients at which the backwards part, the earliest first."""
        events: list[tuple[int, Callable[[], Difference | None]]] = []
        for gradient, other in self._pairs.gradients:
            events.append((gradient.at, lambda one=gradient, two=other: self._gradient(one, two)))  # type: ignore[misc]
        for key, (value, theirs) in self._pairs.values.items():
            if key[0] == "gradient" and key[1] == "backward" and value.tensor is not None:
                events.append((value.at, lambda one=value, two=theirs: self._parameter(one, two)))  # type: ignore[misc]
        found = []
        step = -1
        for _, judge in sorted(events, key=lambda event: event[0]):
            difference = judge()
            if difference is not None:
                if difference.step != step:
                    step = difference.step
                found.append(difference)
        return found

    def _gradient(self, a: Gradient, b: Gradient) -> Difference | None:
        if any(start in self._apart for start, _ in a.targets) or self._is_cell_state(a):
            return None
        metrics = self._meter.measure(
            a.tensor, b.tensor, self._lowered(a), (self._scales[0](a.step, a.at), self._scales[1](b.step, b.at))
        )
        results = [
            self._calls[start] for start, slot in a.targets if slot.startswith("output") and start in self._calls
        ]
        takers = [self._calls[start] for start, slot in a.targets if slot.startswith("input") and start in self._calls]
        for call in results:
            kept = self._given.get(call.start)
            if kept is None or kept.norm_error < metrics.norm_error:
                self._given[call.start] = metrics
        culprit, before = self._producer(takers, results)
        if culprit is not None and not any(call.start in self._given for call in takers):
            before = max(before, self._of_terms(culprit, metrics))
        for call in (*takers, *results):
            absolute = max(_finite(metrics.norm_error), spacing(metrics.dtype)) * metrics.norms[0]
            self._around[call.within] = max(self._around.get(call.within, 0.0), absolute)
        if takers:
            self._point(a.at, culprit, metrics, before)
        found = None
        given = self._given.get(culprit.start, metrics) if culprit is not None else metrics
        if self._is_fault(metrics, before, self._turned(a.step, given)):
            found = self._difference(a.step, a.at, culprit, metrics, before, self._where(a, culprit))
        if math.isfinite(metrics.norm_error):
            self._worst = max(self._worst, metrics.norm_error)
        return found

    def _is_cell_state(self, gradient: Gradient) -> bool:
        """Whether it is that of an LSTM's cell: not all kernels hand on the part that comes from the hidden state."""
        return any(
            start in self._calls and slot == _CELL_STATES.get(self._kinds.get(self._calls[start].name, ""))
            for start, slot in gradient.targets
        )

    def _producer(self, takers: list[Call], results: list[Call]) -> tuple[Call | None, float]:
        """The module whose backward made a gradient, and the error of what that was given."""
        inner = [call for call in takers if call.start in self._given]
        if inner:
            culprit = max(inner, key=lambda call: call.start)
            given = self._given[culprit.start].norm_error
            frame = self._frames.get(culprit.start)
            forward = frame.before if frame is not None else 0.0
            after = frame.error if frame is not None and math.isfinite(frame.error) else 0.0
            known = max(_finite(given), forward, after)
            others = max((_finite(self._given[call.start].norm_error) for call in inner), default=0.0)
            return culprit, max(known, others)
        # A result that is also that of a module around it was taken by the code around the outermost.
        starts = {call.start for call in results}
        outer = [call for call in results if call.within not in starts]
        parents = [self._calls[call.within] for call in (*takers, *outer) if call.within in self._calls]
        parent = max(parents, key=lambda call: call.start) if parents else None
        before = max(self._worst, self._forward_error(results))
        frame = self._frames.get(parent.start) if parent is not None else None
        if frame is not None and frame.routed:
            before = max(before, _finite(frame.error))
        return parent, before

    def _of_terms(self, culprit: Call, metrics: Metrics) -> float:
        """The error that a gradient may have for it is a sum of larger ones in the same code, such as over a row."""
        absolute = self._around.get(culprit.start, 0.0)
        return absolute / metrics.norms[0] if metrics.norms[0] else 0.0

    def _forward_error(self, calls: list[Call]) -> float:
        found = [self._frames[call.start].error for call in calls if call.start in self._frames]
        return max((error for error in found if math.isfinite(error)), default=0.0)

    def _parameter(self, a: Value, b: Value) -> Difference | None:
        if a.tensor is None or b.tensor is None:
            return None
        scales = (self._scales[0](a.step, a.at), self._scales[1](b.step, b.at))
        owner = self._owner(a.step, a.name.rpartition(".")[0])
        if owner is not None and owner.start in self._apart:
            return None
        lowered = self._lower.get(owner.start, "") if owner is not None else ""
        metrics = self._meter.measure(a.tensor, b.tensor, lowered, scales)
        before = self._worst
        if owner is not None and owner.start in self._given:
            frame = self._frames.get(owner.start)
            before = max(_finite(self._given[owner.start].norm_error), frame.before if frame is not None else 0.0)
        if self._is_cancelled(a, owner, metrics, scales[0]):
            return None
        # A sum whose terms cancel is as much more wrong than they are as it is smaller.
        cancelling = self._cancelling(a, owner, scales[0])
        before *= cancelling
        given = self._given.get(owner.start, metrics) if owner is not None else metrics
        turned = self._turned(a.step, given, cancelling)
        if not self._is_fault(metrics, before, turned) or metrics.norm_error <= self._summing(a, owner, metrics):
            return None
        where = phrase("gradient of its parameter {rpartition}", rpartition=a.name.rpartition(".")[2])
        return self._difference(a.step, a.at, owner, metrics, before, where, name=a.name.rpartition(".")[0])

    @staticmethod
    def _is_fault(metrics: Metrics, before: float, floor: float) -> bool:
        return is_fault(metrics, before, gradient=True) and metrics.norm_error > floor

    def _turned(self, step: int, given: Metrics, cancelling: float = 1.0) -> float:
        """The error that a gradient behind kinks has by rounding alone; 0 where there are none.

        Rounding of a relative size e turns a share of about e/2 of the values to the kink's other side; there the
        gradient is another one altogether, so that its error as a whole is the root of that share. Of few values none
        is turned, or a single one, which alone is the root of its share. A sample need not show it.

        Args:
            given: the gradient that the kinks were passed with.
            cancelling: how many times larger it is than what was made of it.
        """
        error = self._errors.get(step)
        if error is None:
            return 0.0
        count = max(1, math.prod(given.shapes[0]))
        single = cancelling / math.sqrt(count) if count * error >= _LIKELY else 0.0
        return _TURNED * max(math.sqrt(error / 2), single)

    def _cancelling(self, a: Value, owner: Call | None, scale: float) -> float:
        """How many times larger the terms of a parameter's gradient are than their sum."""
        if a.tensor is None or owner is None or owner.start not in self._given or not a.tensor.norm:
            return 1.0
        terms = self._given[owner.start].norms[0]
        widths = [tensor.size for tensor in owner.inputs if tensor.count and is_floating(tensor.dtype)]
        if a.name.endswith(_WEIGHTS) and widths and len(a.tensor.shape) > 1:
            # A kernel of Keras has its results in the last dimension, a weight of PyTorch in the first.
            results = a.tensor.shape[-1 if a.name.endswith("kernel") else 0]
            terms *= max(widths) * math.sqrt(a.tensor.count / max(1, results))
        return max(1.0, terms / (a.tensor.norm / abs(scale)))

    def _summing(self, a: Value, owner: Call | None, metrics: Metrics) -> float:
        """The most that adding up its n rows one by one errs by in a bias's gradient: n half units in the last place.

        Kernels of some devices add in the coarse type itself, where a sum soon takes no more small terms.
        """
        if a.tensor is None or len(a.tensor.shape) > 1 or owner is None or owner.start not in self._given:
            return 0.0
        return spacing(metrics.dtype) / 2 * _rows(self._given[owner.start].shapes[0])

    def _owner(self, step: int, name: str) -> Call | None:
        """The innermost module around a parameter that both sides call."""
        while name:
            found = self._of_name.get((step, name))
            if found:
                # A step may hold calls that no gradient comes back through, such as one for the shapes.
                return next((call for call in found if call.start in self._given), found[0])
            name = name.rpartition(".")[0]
        return None

    def _is_cancelled(self, a: Value, owner: Call | None, metrics: Metrics, scale: float) -> bool:
        """Whether the gradient is what rounding leaves of terms that cancel, such as that of a key's bias."""
        if a.tensor is None or owner is None or metrics.problem:
            return False
        width = max(max((tensor.size for tensor in owner.inputs), default=1.0), 1e-30)
        if owner.start in self._given:
            given = self._given[owner.start]
            terms = given.norms[0] * math.sqrt(_rows(given.shapes[0])) * (width if a.name.endswith(_WEIGHTS) else 1.0)
        else:
            # Of what is computed again in the backward pass no gradient is seen; that of the weight has the same terms.
            weight = self._weights.get((a.step, a.name.rpartition(".")[0]))
            if weight is None or not weight.norm or len(weight.shape) < 2 or a.name.endswith(_WEIGHTS):
                return False
            terms = weight.norm / (width * math.sqrt(weight.count / weight.shape[0]))
        share = 4 * spacing(metrics.dtype) / gradient_limit(metrics.dtype, host=metrics.host)
        return max(metrics.norms) < share * terms

    def _lowered(self, gradient: Gradient) -> str:
        for start, _ in gradient.targets:
            if self._lower.get(start):
                return self._lower[start]
        return ""

    def _where(self, gradient: Gradient, culprit: Call | None) -> str:
        start, slot = gradient.targets[-1]
        side, _, name = slot.partition(".")
        call = self._calls.get(start)
        of = call.name if call is not None else "a tensor"
        what = "input" if side == "input" else "result"
        if culprit is not None and culprit is call:
            return phrase("gradient of its {what} {name}", what=what, name=name)
        return phrase("gradient of {of}'s {what} {name}", of=of, what=what, name=name)

    def _point(self, at: int, culprit: Call | None, metrics: Metrics, before: float) -> None:
        self.points.append(
            Point(
                order=at,
                name=culprit.name if culprit is not None else PROGRAM,
                step=culprit.step if culprit is not None else 0,
                phase="train",
                direction="backward",
                before=before,
                error=metrics.norm_error if math.isfinite(metrics.norm_error) else 1e30,
                limit=limit_of(metrics, gradient=True),
                cosine=metrics.cosine,
                max_relative_error=metrics.max_relative_error,
                mean_relative_error=metrics.mean_relative_error,
                ulp_share=metrics.ulp_share,
                share_over_thousandth=metrics.share_over_thousandth,
                operator=culprit.operator if culprit is not None else False,
                amplified=is_fault(metrics, before, gradient=True),
            )
        )

    def _difference(
        self, step: int, at: int, culprit: Call | None, metrics: Metrics, before: float, where: str, name: str = ""
    ) -> Difference:
        overflow = metrics.problem in ("overflow", "nan")
        called = culprit.name if culprit is not None else (name or PROGRAM)
        return Difference(
            kind="overflow" if overflow else ("loss" if culprit is None and not name else "backward"),
            severity="error",
            name=called,
            message=describe_error(metrics, before, limit_of(metrics, gradient=True)),
            step=step,
            phase="train",
            at=at,
            place=culprit.place if culprit is not None else "",
            where=where,
            error=metrics.norm_error if math.isfinite(metrics.norm_error) else None,
            before=before,
            limit=limit_of(metrics, gradient=True),
            metrics=metrics,
        )


_CELL_STATES = {"LSTMCell": "output.1", "LSTM": "output.1.1"}
_KINKED = 0.01
"""Share of zeros from which on gradients have passed a function with a kink, such as ReLU or a maximum."""
_TURNED = 4.0
_LIKELY = 0.005
"""Values that rounding turns in one tensor, on average: with so many, one of a network's hundred tensors has some."""


def _has_kinks(pairs: Pairs) -> bool:
    return any(one.tensor.zero > _KINKED * one.tensor.count for one, _ in pairs.gradients)


def _forward_errors(forward: Forward) -> dict[int, float]:
    """The error that results have in the middle, by step."""
    errors: dict[int, list[float]] = {}
    for point in forward.points:
        if 0 < point.error < 1:
            errors.setdefault(point.step, []).append(point.error)
    return {step: statistics.median(found) for step, found in errors.items()}


def _rows(shape: tuple[int, ...]) -> int:
    """Rows of the last dimension."""
    return math.prod(shape[:-1])


def _finite(error: float) -> float:
    return error if math.isfinite(error) else 0.0


def _scale_at(rank: Rank) -> Callable[[int, int], float]:
    """The factor that the loss had when a gradient came: a scaler's, which both sides need not share."""
    losses = sorted(rank.losses, key=lambda loss: loss.at)

    def scale(step: int, at: int) -> float:
        found = 1.0
        for loss in losses:
            if loss.at > at:
                break
            if loss.step == step:
                found = loss.scale
        return found or 1.0

    return scale
