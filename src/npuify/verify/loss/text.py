"""A report on two loss curves as text, and as JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import msgspec

from npuify.language import phrase
from npuify.report import printable
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
    lines = [VERDICTS[report.verdict], ""]
    lines += [f"  {one}" for one in report.said]
    if report.advice:
        lines += ["", *(f"  -> {one}" for one in report.advice)]
    lines += ["", phrase("pointsmean errorlargest  at step   bias")]
    lines.append(_row("first steps", report.first))
    if report.long_run is not None:
        lines.append(_row("long run", report.long_run))
    lines.append(
        phrase(
            "averaged{percent:>12}   (moving average over {window})",
            percent=percent(report.smoothed_error),
            window=report.window,
        )
    )
    lines.append(f"{'at the end':14}{report.final_reference:8.5g}  against {report.final_target:.5g}")
    lines += ["", *curve_lines(report.reference, "reference"), *curve_lines(report.target, "target")]
    return printable("\n".join(lines) + "\n")


def curve_lines(curve: Curve, role: str) -> list[str]:
    """Where a curve comes from, in lines."""
    steps = phrase(
        "{number} points, steps {steps} to {steps2}",
        number=len(curve.steps),
        steps=curve.steps[0],
        steps2=curve.steps[-1],
    )
    counted = " (counted)" if curve.counted else ""
    device = phrase(", ran on {device}", device=curve.device) if curve.device else ""
    return [
        f"{role:10} {curve.file}: {curve.metric!r} from {curve.kind}, {steps}{counted}{device}",
        *(f"{'':10}   {note}" for note in curve.notes),
    ]


def _row(name: str, one: Part) -> str:
    mark = "ok" if one.aligned else "NOT ALIGNED"
    bias = f"{'+' if one.bias > 0 else '-'}{percent(abs(one.bias))}" if one.bias else "0"
    errors = f"{percent(one.mean_error):>12}{percent(one.max_error):>10}"
    return f"{name:14}{one.points:8d}{errors}  {one.max_at:<8d}  {bias:8}  {mark}"


def render_json(report: LossReport) -> str:
    """The report as JSON; ``version`` says which form. What is not finite is text, as JSON has no word for it."""
    plain = _plain(msgspec.to_builtins(report))
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
