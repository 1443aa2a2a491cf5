"""A report on two loss curves as one HTML file that opens offline: no script, no address, everything escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from npuify.report.html.escape import escaped, shortened
from npuify.report.html.frame import framed
from npuify.version import __version__

from .judge import percent
from .measure import moving_average, relative_errors
from .plot import Line, plot
from .text import VERDICTS, told

if TYPE_CHECKING:
    from .model import LossReport, Part

_STYLE: Final = """
:root{color-scheme:light dark;--line:#d0d7de;--dim:#57606a;--bad:#b42318;--warn:#9a6700;--good:#1a7f37;
--a:#0969da;--b:#cf5b00}
@media(prefers-color-scheme:dark){:root{--line:#3d444d;--dim:#9198a1;--bad:#ff7b72;--warn:#d29922;--good:#3fb950;
--a:#4493f8;--b:#f0883e}}
body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:0 auto;padding:1.5rem}
h1{font-size:1.5rem;margin:.2rem 0 1rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}
.brand,.dim{color:var(--dim)}table{border-collapse:collapse;width:100%}
td,th{text-align:left;padding:.25rem .6rem .25rem 0;border-bottom:1px solid var(--line)}
b.aligned{color:var(--good)}b.uncertain{color:var(--warn)}b.different{color:var(--bad)}
figure{margin:1rem 0}svg{width:100%;height:auto;font-size:11px}
polyline{fill:none;stroke-width:1.4}polyline.a{stroke:var(--a)}polyline.b{stroke:var(--b)}
polyline.c{stroke:var(--bad);stroke-width:1}circle.a{fill:var(--a)}circle.b{fill:var(--b)}circle.c{fill:var(--bad)}
b.a{color:var(--a)}b.b{color:var(--b)}b.c{color:var(--bad)}
line.grid{stroke:var(--line);stroke-width:.6}line.level{stroke:var(--warn);stroke-dasharray:5 4}
line.mark{stroke:var(--bad);stroke-dasharray:3 3}text{fill:var(--dim)}
text.tick{text-anchor:end}text.step{text-anchor:middle}text.levelname{text-anchor:end}
"""


def render_html(report: LossReport) -> str:
    """The whole page, with the curves, their moving averages and the error over the steps."""
    steps, one, two = report.reference.steps, report.reference.values, report.target.values
    mark = (report.diverges_at, "part here") if report.diverges_at is not None else None
    smooth = [moving_average(values, report.window) for values in (one, two)]
    errors = [abs(error) for error in relative_errors(one, two)]
    averaged = [abs(error) for error in relative_errors(smooth[0], smooth[1])]
    said = "".join(f"<li>{escaped(line)}</li>" for line in report.said)
    advice = "".join(f"<li>{escaped(line)}</li>" for line in report.advice)
    rows = _row("First steps", report.first) + (_row("Long run", report.long_run) if report.long_run else "")
    plots = (
        plot(steps, [Line("reference", "a", one), Line("target", "b", two)], "Loss", mark=mark)
        + plot(
            steps,
            [Line("reference", "a", smooth[0]), Line("target", "b", smooth[1])],
            f"Moving averages over {report.window} points",
            mark=mark,
        )
        + plot(
            steps,
            [Line("single steps", "c", errors), Line("moving averages", "a", averaged)],
            "Relative error, logarithmic; steps without error are omitted",
            logarithmic=True,
            level=(report.tolerance, f"allowed: {percent(report.tolerance)}"),
            mark=mark,
        )
    )
    sources = "".join(
        f"<p class='dim'>{escaped(line.strip())}</p>"
        for line in (*told(report.reference, "reference"), *told(report.target, "target"))
    )
    return framed(
        f"npuify verify loss: {report.verdict.value}",
        _STYLE,
        f"""<p class="brand">npuify verify loss {escaped(__version__)} ·
{escaped(shortened(report.reference.file, 60))} and {escaped(shortened(report.target.file, 60))}</p>
<h1><b class="{report.verdict.value}">{escaped(VERDICTS[report.verdict])}</b></h1>
<ul>{said}</ul>
{f"<h2>What to do</h2><ul>{advice}</ul>" if advice else ""}
<h2>Numbers</h2>
<table><tr><th></th><th>Points</th><th>Mean error</th><th>Largest</th><th>At step</th><th></th></tr>{rows}
<tr><td>Averaged</td><td></td><td>{escaped(percent(report.smoothed_error))}</td><td></td><td></td><td></td></tr></table>
<h2>Curves</h2>
{plots}
{sources}""",
    )


def _row(name: str, one: Part) -> str:
    mark = '<b class="aligned">agrees</b>' if one.aligned else '<b class="different">does not agree</b>'
    return (
        f"<tr><td>{name}</td><td>{one.points}</td><td>{escaped(percent(one.mean_error))}</td>"
        f"<td>{escaped(percent(one.max_error))}</td><td>{one.max_at}</td><td>{mark}</td></tr>"
    )
