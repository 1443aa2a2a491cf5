"""Two comparable curves and the verdict on them."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, Final

import msgspec

from .measure import (
    first_not_finite,
    moving_average,
    part,
    parting,
    relative_errors,
    spikes,
    window_for,
)
from .model import LossReport, Part, Verdict
from .words import in_words

if TYPE_CHECKING:
    from .model import Curve

VERSION: Final = 1
TOLERANCE: Final = 0.01
"""Mean relative error up to which a loss counts as aligned: 1 %. Source: the guide to debugging training's precision of
msprobe (MindStudio), which takes the mean over the whole run."""
FIRST: Final = 10
"""Steps that are judged by themselves: there, rounding has had no time to grow."""


def judge(reference: Curve, target: Curve, *, tolerance: float = TOLERANCE, first: int = FIRST) -> LossReport:
    """The verdict on curves that have the same steps; see :func:`.refuse.comparable`.

    The first steps are judged by their largest error, the long run by its mean, both against ``tolerance``.

    Args:
        tolerance: a share of the reference: 0.01 is 1 %.
        first: how many points are judged as the first steps.
    """
    steps, window = reference.steps, window_for(len(reference.steps))
    errors = relative_errors(reference.values, target.values)
    count = min(first, len(steps))
    start = part(steps[:count], errors[:count], tolerance, by_largest=True)
    rest = part(steps[count:], errors[count:], tolerance) if len(steps) > count else None
    smooth_a = moving_average(reference.values, window)
    smooth_b = moving_average(target.values, window)
    smooth = relative_errors(smooth_a, smooth_b)
    finite = [abs(one) for one in smooth if math.isfinite(one)]
    smoothed = fmean(finite) if finite else math.inf
    nan_a, nan_b = first_not_finite(steps, reference.values), first_not_finite(steps, target.values)
    verdict = _verdict(start, rest, smoothed, tolerance, nan_a, nan_b, smooth[-1])
    spikes_a, spikes_b = spikes(steps, reference.values), spikes(steps, target.values)
    diverges = parting(steps, smooth, tolerance) if verdict is not Verdict.ALIGNED else None
    report = LossReport(
        version=VERSION,
        reference=reference,
        target=target,
        tolerance=tolerance,
        verdict=verdict,
        said=(),
        advice=(),
        first=start,
        long_run=rest,
        smoothed_error=smoothed,
        window=window,
        diverges_at=diverges,
        spikes_reference=spikes_a,
        spikes_target=spikes_b,
        not_finite_reference=nan_a,
        not_finite_target=nan_b,
        identical=reference.values == target.values,
        final_reference=smooth_a[-1],
        final_target=smooth_b[-1],
    )
    said, advice = in_words(report, errors)
    return msgspec.structs.replace(report, said=tuple(said), advice=tuple(advice))


def _verdict(
    start: Part, rest: Part | None, smoothed: float, tolerance: float, nan_a: int | None, nan_b: int | None, end: float
) -> Verdict:
    if nan_a is not None or nan_b is not None:
        return Verdict.DIFFERENT if nan_a != nan_b else Verdict.UNCERTAIN
    if start.aligned and (rest is None or rest.aligned):
        return Verdict.ALIGNED
    if rest is not None and start.mean_error <= tolerance and smoothed <= tolerance and abs(end) <= 2 * tolerance:
        return Verdict.UNCERTAIN
    return Verdict.DIFFERENT
