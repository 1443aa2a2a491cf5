"""A report on two loss curves as text, and as JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import msgspec

from npuify.language import padded, phrase, spoken
from npuify.report import printable
from npuify.report.in_language import in_language
from npuify.report.schemas import schema_of

from .judge import VERSION
from .model import Verdict
from .words import percent

if TYPE_CHECKING:
    from .model import Curve, LossReport, Part

VERDICTS: Final = {
    Verdict.ALIGNED: "The loss curves agree.",
    Verdict.UNCERTAIN: "The loss curves agree only on average.",
    Verdict.DIFFERENT: "The loss curves differ.",
}


def render_text(report: LossReport) -> str:
    """The report for a person: the verdict, the reasons, what to do, then the numbers."""
    lines = [phrase(VERDICTS[report.verdict]), ""]
    lines += [f"  {phrase(one)}" for one in report.said]
    if report.advice:
        lines += ["", *(f"  -> {phrase(one)}" for one in report.advice)]
    lines += ["", _titles(), _row(phrase("first steps"), report.first)]
    if report.long_run is not None:
        lines.append(_row(phrase("long run"), report.long_run))
    window = phrase("(moving average over {window})", window=report.window)
    lines.append(f"{padded(phrase('averaged'), 22)}{percent(report.smoothed_error):>12}   {window}")
    against = phrase("against {value:.5g}", value=report.final_target)
    lines.append(f"{padded(phrase('at the end'), 14)}{report.final_reference:8.5g}  {against}")
    lines += ["", *curve_lines(report.reference, phrase("reference")), *curve_lines(report.target, phrase("target"))]
    return printable("\n".join(lines) + "\n")


def _titles() -> str:
    numbers = ((phrase("points"), 8), (phrase("mean error"), 12), (phrase("largest"), 10))
    right = "".join(padded(title, width, right=True) for title, width in numbers)
    return f"{'':14}{right}  {padded(phrase('at step'), 8)}  {phrase('bias')}"


def curve_lines(curve: Curve, role: str) -> list[str]:
    """Where a curve comes from, in lines."""
    steps = phrase(
        "{number} points, steps {steps} to {steps2}",
        number=len(curve.steps),
        steps=curve.steps[0],
        steps2=curve.steps[-1],
    )
    counted = phrase(" (counted)") if curve.counted else ""
    device = phrase(", ran on {device}", device=curve.device) if curve.device else ""
    known = phrase(
        "{file}: {metric!r} from {kind}, {steps}{counted}{device}",
        file=curve.file,
        metric=curve.metric,
        kind=phrase(curve.kind),
        steps=steps,
        counted=counted,
        device=device,
    )
    return [f"{padded(role, 10)} {known}", *(f"{'':10}   {phrase(note)}" for note in curve.notes)]


def _row(name: str, one: Part) -> str:
    mark = phrase("ok") if one.aligned else phrase("NOT ALIGNED")
    bias = f"{'+' if one.bias > 0 else '-'}{percent(abs(one.bias))}" if one.bias else "0"
    errors = f"{percent(one.mean_error):>12}{percent(one.max_error):>10}"
    return f"{padded(name, 14)}{one.points:8d}{errors}  {one.max_at:<8d}  {bias:8}  {mark}"


def render_json(report: LossReport) -> str:
    """The report as JSON; ``version`` says which form. What is not finite is text, as JSON has no word for it."""
    plain = _plain(msgspec.to_builtins(in_language(msgspec.structs.replace(report, language=spoken()))))
    return printable(msgspec.json.format(msgspec.json.encode(plain), indent=2).decode("utf-8") + "\n")


def schema() -> str:
    """The JSON Schema of ``npuify verify loss --format json``."""
    from npuify.verify.loss.model import LossReport

    title = "What npuify verify loss reports about two loss curves"
    return schema_of(LossReport, "verify-loss", VERSION, title, endless=True)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value
