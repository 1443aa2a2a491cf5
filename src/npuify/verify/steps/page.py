"""A report on an acceptance as one HTML file that opens offline: no script, no address, everything escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from npuify.html.escape import escaped, prose, shortened
from npuify.html.frame import framed
from npuify.language import phrase, told
from npuify.version import __version__

from .model import Status
from .text import devices_in_words, ran_on

if TYPE_CHECKING:
    from .model import AcceptanceReport, StepResult

_STYLE: Final = """
article{border-left-color:var(--dim)}
article.passed{border-left-color:var(--good)}article.failed{border-left-color:var(--bad)}
b.passed{color:var(--good)}b.failed{color:var(--bad)}b.notrun{color:var(--dim)}
ul{margin:.3rem 0}li{overflow-wrap:anywhere}
"""


def render_html(report: AcceptanceReport) -> str:
    """The whole page."""
    rows = (
        (phrase("Project"), f"{report.project}, {report.entry}"),
        (phrase("Reference"), report.reference),
        (phrase("Target"), told(report.target)),
        (phrase("Machine"), devices_in_words(report.devices)),
        *((phrase("Prepared"), one) for one in report.prepared),
    )
    table = "".join(f"<tr><th>{name}</th><td>{prose(value)}</td></tr>" for name, value in rows)
    steps = "".join(_step(number, step) for number, step in enumerate(report.steps, 1))
    return framed(
        phrase("npuify verify steps: {shortened}", shortened=shortened(report.project, 40)),
        _STYLE,
        f"""<p class="brand">npuify verify steps {prose(__version__)}</p>
<h1>{prose(report.verdict)}</h1>
<table>{table}</table>
{steps}""",
    )


def _step(number: int, step: StepResult) -> str:
    kind = {Status.PASSED: "passed", Status.FAILED: "failed", Status.NOT_RUN: "notrun"}[step.status]
    evidence = "".join(f"<li>{prose(one)}</li>" for one in step.evidence)
    commands = escaped("\n".join(step.commands))
    return (
        f'<article class="{kind}"><p><b class="{kind}">{phrase(step.status.value)}</b> '
        f"<b>{number}. {prose(step.title)}</b> "
        f'<span class="dim">{prose(ran_on(step))}</span></p><p>{prose(step.message)}</p>'
        + (f"<ul>{evidence}</ul>" if evidence else "")
        + (f"<p>{prose(step.advice)}</p>" if step.advice else "")
        + (f"<pre>{commands}</pre>" if commands else "")
        + "</article>"
    )
