"""Two comparable curves and the verdict on them."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, Final

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

if TYPE_CHECKING:
    from .model import Curve, Spike

VERSION: Final = 1
TOLERANCE: Final = 0.01
"""Mean relative error up to which a loss counts as aligned: 1 %. Source: the guide to debugging training's precision of
msprobe (MindStudio), which takes the mean over the whole run."""
FIRST: Final = 10
"""Steps that are judged by themselves: there, rounding has had no time to grow."""
_GROWN: Final = 1e-3
"""First steps farther apart than this were seen of planted faults, and not of pairs that differ by rounding in float32
(measured on two small programs); half types may be as far apart."""
_NAMED: Final = 5
_EVEN: Final = 0.3
"""Share of the errors that their signed mean stays below where they go up and down alike. Assumed."""
_EXACT: Final = 1e-4
"""A first step closer than this computed the same forward pass, whatever came later. Assumed, from single precision's
rounding summed over a network; half types round 30 to 250 times as coarsely and are told apart by the tolerance."""


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
    said, advice = _words(
        reference, target, verdict, start, rest, errors, smoothed, diverges, spikes_a, spikes_b, nan_a, nan_b, tolerance
    )
    return LossReport(
        version=VERSION,
        reference=reference,
        target=target,
        tolerance=tolerance,
        verdict=verdict,
        said=tuple(said),
        advice=tuple(advice),
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


def _words(
    reference: Curve,
    target: Curve,
    verdict: Verdict,
    start: Part,
    rest: Part | None,
    errors: list[float],
    smoothed: float,
    diverges: int | None,
    spikes_a: tuple[Spike, ...],
    spikes_b: tuple[Spike, ...],
    nan_a: int | None,
    nan_b: int | None,
    tolerance: float,
) -> tuple[list[str], list[str]]:
    said, advice = [], []
    if nan_b is not None and nan_a is None:
        said.append(f"The target's loss is not finite from step {nan_b} on; the reference's never is.")
        advice.append(
            "Find the overflow: compare captures of the steps before it, and check whether a GradScaler skips steps."
        )
    elif nan_a is not None:
        where = "at the same step" if nan_a == nan_b else f"the target's {f'at step {nan_b}' if nan_b else 'never'}"
        said.append(f"The reference's own loss is not finite from step {nan_a} on, {where}.")
        advice.append("Use a reference that trains: this one proves nothing.")
    opening = errors[0]
    if not start.aligned and math.isfinite(opening):
        said.append(
            f"The first {start.points} steps differ by up to {percent(start.max_error)} (step {start.max_at}); "
            f"{percent(tolerance)} is allowed."
        )
        advice.append(_onset(reference, opening, errors, tolerance))
    # Where only NaN keeps it from agreeing, that is said already.
    if rest is not None and tolerance < rest.mean_error < math.inf:
        if verdict is Verdict.UNCERTAIN:
            said.append(
                f"After that, individual steps differ by {percent(rest.mean_error)} on average, but the moving "
                f"averages only by {percent(smoothed)}."
            )
            advice.append(
                "Run the reference again with a different seed: if its own runs differ as much, this is noise."
            )
        else:
            said.append(
                f"The long run (steps {rest.first_step} to {rest.last_step}) differs by {percent(rest.mean_error)} on "
                f"average; {percent(tolerance)} is allowed."
            )
            if abs(rest.bias) > 0.8 * rest.mean_error:
                said.append(
                    f"The target's loss is {'above' if rest.bias > 0 else 'below'} the reference's almost always."
                )
            elif abs(rest.bias) < _EVEN * rest.mean_error:
                said.append("The differences change sign from step to step, as with a different seed or data order.")
            if start.aligned:
                advice.append(
                    "The first steps agree but later ones do not: compare gradients and the update (learning rate, "
                    "scaler, weight decay, clipping, dropout's random numbers) where the curves diverge."
                )
    if diverges is not None:
        said.append(f"From step {diverges} on, the moving averages differ by more than {percent(tolerance)}.")
    usual = {one.step for one in spikes_a}
    alone = [one for one in spikes_b if one.step not in usual]
    if alone:
        named = ", ".join(f"{one.step} ({one.value:.4g}, usually {one.usual:.4g})" for one in alone[:_NAMED])
        more = f" and {len(alone) - _NAMED} more" if len(alone) > _NAMED else ""
        said.append(f"Spikes only in the target: at step {named}{more}.")
        advice.append("Check the data and the gradient norm at those steps; a skipped or unscaled update causes this.")
    if verdict is Verdict.ALIGNED:
        mean = rest.mean_error if rest is not None else start.mean_error
        if start.max_error > _GROWN:
            said.append(
                f"Within {percent(tolerance)}, yet {percent(start.max_error)} in the first steps exceeds float32 "
                "rounding: if neither side uses a half-precision type, compare captures."
            )
        said.insert(0, f"The curves agree: mean relative error {percent(mean)}, {percent(tolerance)} is allowed.")
    if reference.values == target.values:
        said.append(
            "All values are identical to the last digit. This rarely happens on two devices: make sure that these are "
            "two runs."
        )
    if rest is None:
        said.append(f"There are only {start.points} points: the long run cannot be judged.")
    if reference.device and reference.device == target.device:
        said.append(f"Both ran on {reference.device}: this says nothing about another device.")
    return said, advice


def _onset(reference: Curve, opening: float, errors: list[float], tolerance: float) -> str:
    if abs(opening) > tolerance:
        return (
            "The very first step differs: weights, data or the forward pass are not the same. Start both from the "
            "same checkpoint, with the same data order and without dropout, and run npuify verify capture and "
            "compare."
        )
    if abs(opening) <= _EXACT:
        step = next(
            (at for at, error in zip(reference.steps, errors, strict=False) if abs(error) > tolerance),
            reference.steps[0],
        )
        return (
            f"The first step agrees to {percent(abs(opening))} but step {step} does not: check the backward pass and "
            "the update (learning rate, scaler, clipping), or the data order after the first batch."
        )
    return "The error grows within the first steps: compare captures of them, module by module."


def percent(share: float) -> str:
    if not math.isfinite(share):
        return "no finite amount"
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"
