"""The verdict on two curves in sentences, and what to do about it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from .model import Verdict

if TYPE_CHECKING:
    from .model import Curve, LossReport, Part

_GROWN: Final = 1e-3
"""First steps farther apart than this were seen of planted faults, and not of pairs that differ by rounding in float32
(measured on two small programs); half types may be as far apart."""
_NAMED: Final = 5
_EVEN: Final = 0.3
"""Share of the errors that their signed mean stays below where they go up and down alike. Assumed."""
_EXACT: Final = 1e-4
"""A first step closer than this computed the same forward pass, whatever came later. Assumed, from single precision's
rounding summed over a network; half types round 30 to 250 times as coarsely and are told apart by the tolerance."""


def in_words(report: LossReport, errors: list[float]) -> tuple[list[str], list[str]]:
    """What the numbers of a report say, the weightiest first, and advice.

    Args:
        report: the numbers; it has no words yet.
        errors: the relative error of each step.
    """
    said: list[str] = []
    advice: list[str] = []
    _not_finite(report, said, advice)
    _first_steps(report, errors, said, advice)
    # Where only NaN keeps it from agreeing, that is said already.
    if report.long_run is not None and report.tolerance < report.long_run.mean_error < math.inf:
        _long_run(report, report.long_run, said, advice)
    if report.diverges_at is not None:
        said.append(
            f"From step {report.diverges_at} on, the moving averages differ by more than {percent(report.tolerance)}."
        )
    _spikes(report, said, advice)
    if report.verdict is Verdict.ALIGNED:
        _aligned(report, said)
    _doubts(report, said)
    return said, advice


def _not_finite(report: LossReport, said: list[str], advice: list[str]) -> None:
    nan_a, nan_b = report.not_finite_reference, report.not_finite_target
    if nan_b is not None and nan_a is None:
        said.append(f"The target's loss is not finite from step {nan_b} on; the reference's never is.")
        advice.append(
            "Find the overflow: compare captures of the steps before it, and check whether a GradScaler skips steps."
        )
    elif nan_a is not None:
        where = "at the same step" if nan_a == nan_b else f"the target's {f'at step {nan_b}' if nan_b else 'never'}"
        said.append(f"The reference's own loss is not finite from step {nan_a} on, {where}.")
        advice.append("Use a reference that trains: this one proves nothing.")


def _first_steps(report: LossReport, errors: list[float], said: list[str], advice: list[str]) -> None:
    start, tolerance = report.first, report.tolerance
    if not start.aligned and math.isfinite(errors[0]):
        said.append(
            f"The first {start.points} steps differ by up to {percent(start.max_error)} (step {start.max_at}); "
            f"{percent(tolerance)} is allowed."
        )
        advice.append(_onset(report.reference, errors[0], errors, tolerance))


def _long_run(report: LossReport, rest: Part, said: list[str], advice: list[str]) -> None:
    if report.verdict is Verdict.UNCERTAIN:
        said.append(
            f"After that, individual steps differ by {percent(rest.mean_error)} on average, but the moving "
            f"averages only by {percent(report.smoothed_error)}."
        )
        advice.append("Run the reference again with a different seed: if its own runs differ as much, this is noise.")
        return
    said.append(
        f"The long run (steps {rest.first_step} to {rest.last_step}) differs by {percent(rest.mean_error)} on "
        f"average; {percent(report.tolerance)} is allowed."
    )
    if abs(rest.bias) > 0.8 * rest.mean_error:
        said.append(f"The target's loss is {'above' if rest.bias > 0 else 'below'} the reference's almost always.")
    elif abs(rest.bias) < _EVEN * rest.mean_error:
        said.append("The differences change sign from step to step, as with a different seed or data order.")
    if report.first.aligned:
        advice.append(
            "The first steps agree but later ones do not: compare gradients and the update (learning rate, "
            "scaler, weight decay, clipping, dropout's random numbers) where the curves diverge."
        )


def _spikes(report: LossReport, said: list[str], advice: list[str]) -> None:
    usual = {one.step for one in report.spikes_reference}
    alone = [one for one in report.spikes_target if one.step not in usual]
    if alone:
        named = ", ".join(f"{one.step} ({one.value:.4g}, usually {one.usual:.4g})" for one in alone[:_NAMED])
        more = f" and {len(alone) - _NAMED} more" if len(alone) > _NAMED else ""
        said.append(f"Spikes only in the target: at step {named}{more}.")
        advice.append("Check the data and the gradient norm at those steps; a skipped or unscaled update causes this.")


def _aligned(report: LossReport, said: list[str]) -> None:
    start, tolerance = report.first, report.tolerance
    mean = report.long_run.mean_error if report.long_run is not None else start.mean_error
    if start.max_error > _GROWN:
        said.append(
            f"Within {percent(tolerance)}, yet {percent(start.max_error)} in the first steps exceeds float32 "
            "rounding: if neither side uses a half-precision type, compare captures."
        )
    said.insert(0, f"The curves agree: mean relative error {percent(mean)}, {percent(tolerance)} is allowed.")


def _doubts(report: LossReport, said: list[str]) -> None:
    """What makes the numbers say less than it seems."""
    if report.identical:
        said.append(
            "All values are identical to the last digit. This rarely happens on two devices: make sure that these are "
            "two runs."
        )
    if report.long_run is None:
        said.append(f"There are only {report.first.points} points: the long run cannot be judged.")
    if report.reference.device and report.reference.device == report.target.device:
        said.append(f"Both ran on {report.reference.device}: this says nothing about another device.")


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
