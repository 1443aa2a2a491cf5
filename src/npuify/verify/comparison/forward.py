"""Follows both forwards in the order of time and finds where they part.

What counts is where an error first appears: at a result of a module whose inputs and parts agree, it is that module's;
at an input of a module, it was made by the code around it, between the modules that it calls.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npuify.language import phrase

from .limits import failed, is_fault, limit_of
from .matching import slots
from .metrics import is_floating
from .result import Difference, Point

if TYPE_CHECKING:
    from .matching import Pairs
    from .metrics import Meter, Metrics
    from .model import Call

PROGRAM = "the program"


@dataclass
class Frame:
    """A module at work: the largest error of what it was given and of what its parts gave."""

    a: Call | None
    before: float = 0.0
    worst_input: float = 0.0
    given: float = 0.0
    """Of its inputs and its own parameters."""
    error: float = 0.0
    """Of its results, once they are there."""
    bad: bool = False
    routed: bool = False
    """Its parts got other rows on both sides: rounding changed a choice that it made."""


@dataclass
class Suspect:
    """A place where an error appears that nothing before it explains."""

    frame: Frame
    metrics: Metrics
    before: float
    at: int
    slot: str
    entering: Call | None
    previous: str


class Forward:
    """The walk through the calls of one process."""

    def __init__(self, pairs: Pairs, meter: Meter, parameters: dict[tuple[int, str], float]) -> None:
        self._pairs = pairs
        self._meter = meter
        self._parameters = parameters
        self.frames: dict[int, Frame] = {0: Frame(None)}
        self.points: list[Point] = []
        self._suspects: list[Suspect] = []
        self._last: dict[int, str] = {}
        self._last_operator: dict[int, str] = {}
        self._routing = _routing(pairs, meter)
        self.apart: set[int] = set()
        """Calls that were given other rows on both sides: what they give cannot be held against each other."""

    def walk(self) -> list[Difference]:
        """The places where the forwards part, the earliest first."""
        events: list[tuple[int, bool, Call, Call]] = []
        for a, b in self._pairs.calls:
            events += [(a.start, True, a, b), (a.end, False, a, b)]
        for _, entering, a, b in sorted(events, key=lambda event: event[0]):
            (self._enter if entering else self._leave)(a, b)
        found = [self._difference(one) for one in self._suspects if self._matters(one)]
        return found + [_turned(frame) for frame in self.frames.values() if frame.routed]

    def _parent(self, call: Call) -> Frame:
        return self.frames.get(call.within, self.frames[0])

    def _enter(self, a: Call, b: Call) -> None:
        parent = self._parent(a)
        if not a.within:
            # What one model gave says nothing of how wrong the next step's data may be.
            parent = self.frames[0] = Frame(None, self.frames[0].before if a.root == 1 else 0.0)
        if a.within in self.apart or self._is_routed(a, parent):
            self.apart.add(a.start)
            return
        worst = 0.0
        for left, right in slots(a.inputs, b.inputs):
            metrics = self._meter.measure(left, right, a.autocast or b.autocast)
            if metrics.problem == "complement":
                continue
            if metrics.problem == "whole numbers" and a.start in self._routing and parent.before > 0:
                continue
            if is_fault(metrics, parent.before):
                previous = self._last.get(a.within, "")
                if a.operator or not a.within:
                    # An operator's input was made by what is no operator, such as a view: the result will tell.
                    previous = ""
                self._suspects.append(Suspect(parent, metrics, parent.before, a.start, left.slot, a, previous))
            if is_floating(metrics.dtypes[0]) and math.isfinite(metrics.norm_error):
                worst = max(worst, metrics.norm_error)
        own = self._parameters.get((a.step, a.name), 0.0)
        self.frames[a.start] = Frame(a, max(worst, own), worst, max(worst, own))

    def _is_routed(self, call: Call, parent: Frame) -> bool:
        """Whether the module around a call chose other rows for its parts, for what it was given is rounded already."""
        if parent.routed or (parent.a is not None and call.within in self._routing and parent.before > 0):
            parent.routed = True
            # What makes the choice is given all rows.
            return call.start in self._routing[call.within]
        return False

    def _leave(self, a: Call, b: Call) -> None:
        frame = self.frames.get(a.start)
        if frame is None:
            return
        parent = self._parent(a)
        worst: Metrics | None = None
        for left, right in slots(a.outputs, b.outputs):
            metrics = self._meter.measure(left, right, a.autocast or b.autocast)
            if worst is None or metrics.norm_error > worst.norm_error:
                worst = metrics
            if is_fault(metrics, frame.before) and not (frame.routed and metrics.norm_error < 1):
                self._suspects.append(
                    Suspect(frame, metrics, frame.before, a.end, left.slot, None, self._last.get(a.start, ""))
                )
        if worst is None:
            return
        frame.error = worst.norm_error
        frame.bad = worst.norm_error > limit_of(worst)
        if math.isfinite(worst.norm_error) and is_floating(worst.dtypes[0]):
            parent.before = max(parent.before, worst.norm_error)
        self._last[a.within] = a.name
        finite = worst.norm_error if math.isfinite(worst.norm_error) else 1e30
        self.points.append(
            Point(
                order=a.end,
                name=a.name,
                step=a.step,
                phase=a.phase,
                direction="forward",
                before=frame.worst_input,
                error=finite,
                limit=limit_of(worst),
                cosine=worst.cosine,
                max_relative_error=worst.max_relative_error,
                mean_relative_error=worst.mean_relative_error,
                ulp_share=worst.ulp_share,
                share_over_thousandth=worst.share_over_thousandth,
                operator=a.operator,
                amplified=is_fault(worst, frame.given),
                failed=failed(worst) if a.operator and frame.worst_input <= limit_of(worst) else (),
            )
        )

    def _matters(self, suspect: Suspect) -> bool:
        """Whether anything comes of the difference: what goes into a module may differ and be taken otherwise."""
        if suspect.entering is None or suspect.frame.a is None:
            return True
        if not suspect.frame.bad:
            return False
        entered = self.frames.get(suspect.entering.start)
        return entered is None or entered.bad or suspect.frame.bad

    def _difference(self, suspect: Suspect) -> Difference:
        call, metrics = suspect.frame.a, suspect.metrics
        name = call.name if call is not None else PROGRAM
        entering = suspect.entering
        reference = call or entering
        if entering is not None:
            after = phrase("after {short} and ", short=_short(suspect.previous, name)) if suspect.previous else ""
            where = phrase(
                "in its own code, {after}before {short} ({slot})",
                after=after,
                short=_short(entering.name, name),
                slot=suspect.slot,
            )
        elif suspect.previous:
            where = phrase("in its own code, after {short}", short=_short(suspect.previous, name))
        else:
            where = "result" + (f" {suspect.slot}" if suspect.slot not in ("", "0") else "")
        overflow = metrics.problem in ("overflow", "nan")
        return Difference(
            kind="overflow" if overflow else "forward",
            severity="error",
            name=name,
            message=describe_error(metrics, suspect.before, limit_of(metrics)),
            step=reference.step if reference is not None else 0,
            phase=reference.phase if reference is not None else "",
            at=suspect.at,
            place=(call.place if call is not None else ""),
            where=where,
            error=metrics.norm_error if math.isfinite(metrics.norm_error) else None,
            before=suspect.before,
            limit=limit_of(metrics),
            metrics=metrics,
        )


_FEW_ROWS = 0.1
"""Share of the rows that a choice may move from one part to another by rounding."""


def _routing(pairs: Pairs, meter: Meter) -> dict[int, set[int]]:
    """By the call around them: calls given a few rows more or less on the other side, and all of their family."""
    moved: dict[int, set[str]] = {}
    for a, b in pairs.calls:
        for left, right in slots(a.inputs, b.inputs):
            same = len(left.shape) == len(right.shape) > 1 and left.shape[1:] == right.shape[1:]
            if same and 0 < abs(left.shape[0] - right.shape[0]) <= max(2, _FEW_ROWS * left.shape[0]):
                moved.setdefault(a.within, set()).add(_family(a.name))
    found: dict[int, set[int]] = {}
    chosen = {a.start for a, b in pairs.calls if a.within and _chosen(a, b, meter)}
    for a, _ in pairs.calls:
        if a.within in chosen:
            found.setdefault(a.within, set()).add(a.start)
        if a.within in moved and _family(a.name) in moved[a.within]:
            found.setdefault(a.within, set()).add(a.start)
    return found


def _chosen(a: Call, b: Call, meter: Meter) -> bool:
    """Whether a call was given other whole numbers in a few places, such as the parts that a router chose."""
    for left, right in slots(a.inputs, b.inputs):
        if left.dtype in ("int64", "int32") and right.dtype == left.dtype:
            metrics = meter.measure(left, right)
            if metrics.problem == "whole numbers" and metrics.norm_error <= _FEW_ROWS:
                return True
    return False


def _family(name: str) -> str:
    """``experts.3`` and ``experts.0`` are of one family."""
    return re.sub(r"\d+", "#", name)


def _turned(frame: Frame) -> Difference:
    assert frame.a is not None
    return Difference(
        kind="choice",
        severity="warning",
        name=frame.a.name,
        message="its submodules got a few different rows: a choice such as top-k came out differently, since rounding "
        "changes ties",
        step=frame.a.step,
        phase=frame.a.phase,
        at=frame.a.end,
        place=frame.a.place,
        error=frame.error,
        before=frame.before,
    )


def describe_error(metrics: Metrics, before: float, limit: float) -> str:
    """A pair that differs, in words."""
    if metrics.problem == "shape":
        return phrase(
            "A gives the shape {list}, B gives {list2}", list=list(metrics.shapes[0]), list2=list(metrics.shapes[1])
        )
    if metrics.problem == "overflow":
        return phrase("infinite values: {inf} in A, {inf2} in B", inf=metrics.inf[0], inf2=metrics.inf[1])
    if metrics.problem == "nan":
        return phrase("NaN values: {nan} in A, {nan2} in B", nan=metrics.nan[0], nan2=metrics.nan[1])
    if metrics.problem == "whole numbers":
        return phrase("{norm_error:.1%} of the whole numbers differ", norm_error=metrics.norm_error)
    times = (
        phrase(", {value:.0f} times that of its input", value=metrics.norm_error / before)
        if before > 0
        else "; its inputs agree"
    )
    ratio = phrase("; B is {ratio:.6g} times A", ratio=metrics.ratio) if metrics.ratio is not None else ""
    return phrase(
        "relative error {norm_error:.2g} (limit {limit:.2g}{times}){ratio}",
        norm_error=metrics.norm_error,
        limit=limit,
        times=times,
        ratio=ratio,
    )


def _short(name: str, within: str) -> str:
    for mark in (".", "/"):
        if name.startswith(within + mark):
            return name[len(within) + 1 :]
    return name
