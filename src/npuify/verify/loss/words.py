"""The verdict on two curves in sentences, and what to do about it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from npuify.language import commas, phrase

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
            phrase(
                "From step {diverges_at} on, the moving averages differ by more than {percent}.",
                diverges_at=report.diverges_at,
                percent=percent(report.tolerance),
            )
        )
    _spikes(report, said, advice)
    if report.verdict is Verdict.ALIGNED:
        _aligned(report, said)
    _doubts(report, said)
    return said, advice


def _not_finite(report: LossReport, said: list[str], advice: list[str]) -> None:
    nan_a, nan_b = report.not_finite_reference, report.not_finite_target
    if nan_b is not None and nan_a is None:
        said.append(
            phrase("The target's loss is not finite from step {nan_b} on; the reference's never is.", nan_b=nan_b)
        )
        advice.append(
            "Find the overflow: compare captures of the steps before it, and check whether a GradScaler skips steps."
        )
    elif nan_a is not None:
        where = (
            "at the same step"
            if nan_a == nan_b
            else phrase("the target's at step {step}", step=nan_b)
            if nan_b
            else phrase("the target's never")
        )
        said.append(
            phrase("The reference's own loss is not finite from step {nan_a} on, {where}.", nan_a=nan_a, where=where)
        )
        advice.append("Use a reference that trains: this one proves nothing.")


def _first_steps(report: LossReport, errors: list[float], said: list[str], advice: list[str]) -> None:
    start, tolerance = report.first, report.tolerance
    if not start.aligned and math.isfinite(errors[0]):
        said.append(
            phrase(
                "The first {points} steps differ by up to {percent} (step {max_at}); {percent2} is allowed.",
                points=start.points,
                percent=percent(start.max_error),
                max_at=start.max_at,
                percent2=percent(tolerance),
            )
        )
        advice.append(_onset(report.reference, errors[0], errors, tolerance))


def _long_run(report: LossReport, rest: Part, said: list[str], advice: list[str]) -> None:
    if report.verdict is Verdict.UNCERTAIN:
        said.append(
            phrase(
                "After that, individual steps differ by {percent} on average, but the moving averages "
                "only by {percent2}.",
                percent=percent(rest.mean_error),
                percent2=percent(report.smoothed_error),
            )
        )
        advice.append("Run the reference again with a different seed: if its own runs differ as much, this is noise.")
        return
    said.append(
        phrase(
            "The long run (steps {first_step} to {last_step}) differs by {percent} on average; {percent2} is allowed.",
            first_step=rest.first_step,
            last_step=rest.last_step,
            percent=percent(rest.mean_error),
            percent2=percent(report.tolerance),
        )
    )
    if abs(rest.bias) > 0.8 * rest.mean_error:
        said.append(
            phrase("The target's loss is above the reference's almost always.")
            if rest.bias > 0
            else phrase("The target's loss is below the reference's almost always.")
        )
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
        named = commas(
            phrase("{step} ({value:.4g}, usually {usual:.4g})", step=one.step, value=one.value, usual=one.usual)
            for one in alone[:_NAMED]
        )
        more = phrase(" and {value} more", value=len(alone) - _NAMED) if len(alone) > _NAMED else ""
        said.append(phrase("Spikes only in the target: at step {named}{more}.", named=named, more=more))
        advice.append("Check the data and the gradient norm at those steps; a skipped or unscaled update causes this.")


def _aligned(report: LossReport, said: list[str]) -> None:
    start, tolerance = report.first, report.tolerance
    mean = report.long_run.mean_error if report.long_run is not None else start.mean_error
    if start.max_error > _GROWN:
        said.append(
            phrase(
                "Within {percent}, yet {percent2} in the first steps exceeds float32 rounding: if "
                "neither side uses a half-precision type, compare captures.",
                percent=percent(tolerance),
                percent2=percent(start.max_error),
            )
        )
    said.insert(
        0,
        phrase(
            "The curves agree: mean relative error {percent}, {percent2} is allowed.",
            percent=percent(mean),
            percent2=percent(tolerance),
        ),
    )


def _doubts(report: LossReport, said: list[str]) -> None:
    """What makes the numbers say less than it seems."""
    if report.identical:
        said.append(
            "All values are identical to the last digit. This rarely happens on two devices: make sure that these are "
            "two runs."
        )
    if report.long_run is None:
        said.append(
            phrase("There are only {points} points: the long run cannot be judged.", points=report.first.points)
        )
    if report.reference.device and report.reference.device == report.target.device:
        said.append(
            phrase("Both ran on {device}: this says nothing about another device.", device=report.reference.device)
        )


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
        return phrase(
            "The first step agrees to {percent} but step {step} does not: check the backward pass "
            "and the update (learning rate, scaler, clipping), or the data order after the first "
            "batch.",
            percent=percent(abs(opening)),
            step=step,
        )
    return "The error grows within the first steps: compare captures of them, module by module."


def percent(share: float) -> str:
    if not math.isfinite(share):
        return "no finite amount"
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"
