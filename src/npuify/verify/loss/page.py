"""A report on two loss curves as one HTML file that opens offline: no script, no address, everything escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from npuify.html.escape import prose, shortened
from npuify.html.frame import framed
from npuify.language import listed, phrase
from npuify.version import __version__

from .measure import moving_average, relative_errors
from .plot import Line, plot
from .text import VERDICTS, curve_lines
from .words import percent

if TYPE_CHECKING:
    from .model import LossReport, Part

_STYLE: Final = """
h1{font-size:1.5rem}
b.aligned{color:var(--good)}b.uncertain{color:var(--warn)}b.different{color:var(--bad)}
svg{font-size:11px}
polyline{fill:none;stroke-width:1.4}polyline.a{stroke:var(--note)}polyline.b{stroke:var(--other)}
polyline.c{stroke:var(--bad);stroke-width:1}
circle.a{fill:var(--note)}circle.b{fill:var(--other)}circle.c{fill:var(--bad)}
b.a{color:var(--note)}b.b{color:var(--other)}b.c{color:var(--bad)}
line.grid{stroke:var(--line);stroke-width:.6}line.level{stroke:var(--warn);stroke-dasharray:5 4}
line.mark{stroke:var(--bad);stroke-dasharray:3 3}text{fill:var(--dim)}
text.tick{text-anchor:end}text.step{text-anchor:middle}text.levelname{text-anchor:end}
"""


def render_html(report: LossReport) -> str:
    """The whole page, with the curves, their moving averages and the error over the steps."""
    steps, one, two = report.reference.steps, report.reference.values, report.target.values
    mark = (report.diverges_at, phrase("part here")) if report.diverges_at is not None else None
    smooth = [moving_average(values, report.window) for values in (one, two)]
    errors = [abs(error) for error in relative_errors(one, two)]
    averaged = [abs(error) for error in relative_errors(smooth[0], smooth[1])]
    said = "".join(f"<li>{prose(line)}</li>" for line in report.said)
    advice = "".join(f"<li>{prose(line)}</li>" for line in report.advice)
    rows = _row(phrase("First steps"), report.first) + (
        _row(phrase("Long run"), report.long_run) if report.long_run else ""
    )
    plots = (
        plot(steps, [Line(phrase("reference"), "a", one), Line(phrase("target"), "b", two)], phrase("Loss"), mark=mark)
        + plot(
            steps,
            [Line(phrase("reference"), "a", smooth[0]), Line(phrase("target"), "b", smooth[1])],
            phrase("Moving averages over {window} points", window=report.window),
            mark=mark,
        )
        + plot(
            steps,
            [Line(phrase("single steps"), "c", errors), Line(phrase("moving averages"), "a", averaged)],
            phrase("Relative error, logarithmic; steps without error are omitted"),
            logarithmic=True,
            level=(report.tolerance, phrase("allowed: {percent}", percent=percent(report.tolerance))),
            mark=mark,
        )
    )
    sources = "".join(
        f"<p class='dim'>{prose(line.strip())}</p>"
        for line in (*curve_lines(report.reference, phrase("reference")), *curve_lines(report.target, phrase("target")))
    )
    return framed(
        phrase("npuify verify loss: {value}", value=report.verdict.value),
        _STYLE,
        f"""<p class="brand">npuify verify loss {prose(__version__)} ·
{prose(listed((shortened(report.reference.file, 60), shortened(report.target.file, 60))))}</p>
<h1><b class="{report.verdict.value}">{prose(VERDICTS[report.verdict])}</b></h1>
<ul>{said}</ul>
{f"<h2>{phrase('What to do')}</h2><ul>{advice}</ul>" if advice else ""}
<h2>{phrase("Numbers")}</h2>
<table><tr><th></th><th>{phrase("points")}</th><th>{phrase("mean error")}</th>
<th>{phrase("largest")}</th><th>{phrase("at step")}</th><th></th></tr>{rows}
<tr><td>{phrase("averaged")}</td><td></td><td>{prose(percent(report.smoothed_error))}</td><td></td><td></td><td></td></tr></table>
<h2>{phrase("Curves")}</h2>
{plots}
{sources}""",
    )


def _row(name: str, one: Part) -> str:
    mark = (
        f'<b class="aligned">{phrase("agrees")}</b>'
        if one.aligned
        else f'<b class="different">{phrase("does not agree")}</b>'
    )
    return (
        f"<tr><td>{name}</td><td>{one.points}</td><td>{prose(percent(one.mean_error))}</td>"
        f"<td>{prose(percent(one.max_error))}</td><td>{one.max_at}</td><td>{mark}</td></tr>"
    )
