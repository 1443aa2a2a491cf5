"""What is measured of curves: errors, moving averages, the point where they part, spikes."""

from __future__ import annotations

import math
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

from .model import Part, Spike

if TYPE_CHECKING:
    from collections.abc import Sequence

_AROUND: Final = 15
"""Steps on each side that a spike is held against."""
_SPREAD: Final = 8.0
"""How many times the usual scatter a spike stands above the median."""
_SHARE: Final = 0.2
"""And by which share of the median, so that the ripples of a smooth curve are none."""


def relative_errors(reference: Sequence[float], target: Sequence[float]) -> list[float]:
    """(target - reference) / |reference|, step by step.

    A reference near zero would make any difference endless; no denominator is less than a thousandth of the usual loss.
    Pairs with NaN or infinity give NaN, those that are both the same infinity 0.
    """
    sizes = [abs(value) for value in reference if math.isfinite(value)]
    floor = max(median(sizes) / 1000 if sizes else 0.0, 1e-30)
    return [0.0 if a == b else (b - a) / max(abs(a), floor) for a, b in zip(reference, target, strict=False)]


def part(steps: Sequence[int], errors: Sequence[float], tolerance: float, *, by_largest: bool = False) -> Part:
    """A stretch judged by its mean error, or ``by_largest`` of its errors. NaN is never within a tolerance."""
    finite = [(abs(error), step) for error, step in zip(errors, steps, strict=False) if math.isfinite(error)]
    broken = len(finite) < len(errors)
    mean = fmean(error for error, _ in finite) if finite else math.inf
    worst, at = max(finite, key=lambda one: one[0]) if finite else (math.inf, steps[0])
    bias = fmean(error for error in errors if math.isfinite(error)) if finite else 0.0
    judged = worst if by_largest else mean
    return Part(steps[0], steps[-1], len(steps), mean, worst, at, bias, judged <= tolerance and not broken)


def window_for(points: int) -> int:
    """Points in the moving average of a curve: a twentieth, at least 5 and at most 200."""
    return max(min(5, points), min(200, points // 20))


def moving_average(values: Sequence[float], window: int) -> list[float]:
    """The mean of each point and those before it, ``window`` at most; NaN spreads no further than the window."""
    made = []
    for place in range(len(values)):
        made.append(fmean(values[max(0, place + 1 - window) : place + 1]))
    return made


def parting(steps: Sequence[int], errors: Sequence[float], tolerance: float) -> int | None:
    """The step from which the errors stay above the tolerance to the end, for a twentieth of the points or more."""
    place = len(errors)
    while place and not abs(errors[place - 1]) <= tolerance:
        place -= 1
    if len(errors) - place < max(3, len(errors) // 20):
        return None
    return steps[place]


def spikes(steps: Sequence[int], values: Sequence[float]) -> tuple[Spike, ...]:
    """Steps whose loss stands far above the median of those around it, measured by their usual scatter."""
    found = []
    for place, value in enumerate(values):
        around = [
            one
            for one in (*values[max(0, place - _AROUND) : place], *values[place + 1 : place + 1 + _AROUND])
            if math.isfinite(one)
        ]
        if len(around) < 6 or not math.isfinite(value):
            continue
        usual = median(around)
        # 1.4826 times the median deviation is the standard one of a normal distribution.
        scatter = 1.4826 * median(abs(one - usual) for one in around)
        # Where the loss falls fast, an early value stands above what follows and is no spike: it has to stand out on
        # both sides.
        before = [one for one in values[max(0, place - 3) : place] if math.isfinite(one)]
        if (
            before
            and value - usual > max(_SPREAD * scatter, _SHARE * abs(usual))
            and value > max(before) * (1 + _SHARE if max(before) > 0 else 1 - _SHARE)
        ):
            found.append(Spike(steps[place], value, usual))
    return tuple(found)


def first_not_finite(steps: Sequence[int], values: Sequence[float]) -> int | None:
    """The first step with NaN or infinity."""
    return next((step for step, value in zip(steps, values, strict=False) if not math.isfinite(value)), None)
