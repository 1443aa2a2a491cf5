"""The doctor's report as one HTML file that opens offline: no script, no address, everything escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.html.escape import escaped, prose
from npuify.html.sheet import sheet
from npuify.language import phrase
from npuify.report.doctor import Status

from .text import EVIDENCE, MARKS, cards_in_short, verdict

if TYPE_CHECKING:
    from npuify.report.doctor import Machine, Report, Result


def render_html(report: Report) -> str:
    """The whole page."""
    told = [one for one in report.results if one.status not in (Status.OK, Status.SKIPPED)]
    results = "".join(_result(one) for one in told) or f'<p class="dim">{phrase("Nothing to tell.")}</p>'
    checks = "".join(
        f'<tr><td><b class="{one.status.value}">{_word(one.status)}</b></td><td>{prose(one.title)}</td>'
        f'<td class="dim">{prose(one.name)}</td></tr>'
        for one in report.checks
    )
    return sheet(
        command="doctor",
        version=report.tool,
        source=phrase(report.source),
        title=_word(report.worst),
        worst=report.worst.value,
        heading=verdict(report),
        body=f"""<table>{_machine(report.machine)}</table>
<h2>{phrase("What to do")}</h2>
{results}
<h2>{phrase("All checks")}</h2>
<table>{checks}</table>""",
        foot=phrase("Nothing was changed on the machine."),
    )


def _word(status: Status) -> str:
    return phrase(MARKS[status]).strip().lower()


def _machine(machine: Machine) -> str:
    rows = (
        (phrase("System"), f"{machine.system} {machine.architecture}".strip()),
        (phrase("Container"), machine.container),
        (phrase("Cards"), cards_in_short(machine)),
        (phrase("Driver"), machine.driver),
        (phrase("Firmware"), machine.firmware),
        ("CANN", machine.cann),
        ("Python", machine.python),
        ("torch", machine.torch),
        ("torch_npu", machine.torch_npu),
    )
    return "".join(f"<tr><th>{name}</th><td>{prose(value)}</td></tr>" for name, value in rows if value)


def _result(result: Result) -> str:
    status = result.status.value
    head = f'<b class="{status}">{_word(result.status)}</b> <b>{prose(result.message)}</b>'
    parts = [f'<article class="{status}"><p>{head}</p>']
    if result.advice:
        parts.append(f"<p>{prose(result.advice)}</p>")
    if result.mend is not None:
        places = {"host": phrase("On the host"), "shell": phrase("In the shell")}
        where = places.get(result.mend.place, phrase("On this machine"))
        root = phrase(", as root") if result.mend.root else ""
        parts.append(f'<p class="dim">{where}{root}:</p><pre>{escaped(chr(10).join(result.mend.commands))}</pre>')
    known = (
        phrase(
            " · known from: {source} ({evidence})",
            source=prose(result.source),
            evidence=phrase(EVIDENCE.get(result.evidence.value, result.evidence.value)),
        )
        if result.source
        else ""
    )
    parts.append(f'<p class="dim">{prose(result.check)}{known}</p></article>')
    return "".join(parts)
