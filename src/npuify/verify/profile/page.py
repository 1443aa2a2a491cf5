"""A report on a profile as one HTML file that opens offline: no script, no address, everything escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from npuify.html.escape import prose, shortened
from npuify.html.frame import framed
from npuify.language import commas, mark, phrase
from npuify.version import __version__

from .text import parts, steps_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .model import Advice, Operator, ProfileReport, Step

_STYLE: Final = """
td.number,th.number{text-align:right}td{overflow-wrap:anywhere}svg{font-size:11px}text{fill:var(--dim)}
.computing{fill:var(--good);color:var(--good)}.exposed{fill:var(--other);color:var(--other)}
.idle{fill:var(--bad);color:var(--bad)}.unknown{fill:var(--note);color:var(--note)}
rect.bar{fill:var(--note);opacity:.35}
"""
_STEPS: Final = 60
"""Steps that are drawn."""


def render_html(report: ProfileReport) -> str:
    """The whole page, with the division of each step and the operators' times."""
    more = "".join(f"<p>{prose(one)}</p>" for one in report.said[1:])
    steps = ""
    if report.step_time:
        listed = "".join(f"<li>{prose(one.strip())}</li>" for one in parts(report))
        steps = (
            f"<h2>{phrase('Steps')}</h2><p>{prose(steps_in_words(report))}</p><ul>{listed}</ul>{_bars(report.steps)}"
        )
    tables = "".join(
        f"<h2>{phrase(title)}</h2>{_table(rows)}"
        for title, rows in (
            (mark("Kernels"), report.operators),
            (mark("Communication"), report.communications),
            (mark("Operators on the host, self time"), report.host_operators),
        )
        if rows
    )
    advice = "".join(
        f"<article><p><b>{prose(one.id)} {prose(one.topic)}</b></p><p>{prose(one.advice)}</p>"
        + (f"<p>{prose(phrase('But: {caveat}', caveat=one.caveat))}</p>" if one.caveat else "")
        + f'<p class="dim">{prose(_known(one))}</p></article>'
        for one in report.advice
    )
    cpu = "".join(
        f'<tr><td><code>{prose(one.name)}</code></td><td class="number">{one.count}</td>'
        f"<td>{prose(one.evidence)}</td></tr>"
        for one in report.fallbacks
    )
    unjudged = ", ".join(f"{one.id} ({phrase('lacks {names}', names=commas(one.lacks))})" for one in report.unjudged)
    on_host = prose(phrase("On the host's CPU"))
    lacking = phrase("Not judged, since the profile lacks the data they need: {unjudged}", unjudged=unjudged)
    notes = "".join(f'<p class="dim">{prose(one)}</p>' for one in report.notes)
    return framed(
        phrase("npuify verify profile: {value}", value=report.bound.value),
        _STYLE,
        f"""<p class="brand">npuify verify profile {prose(__version__)} · {prose(report.kind)} ·
{prose(shortened(report.path, 90))}</p>
<h1>{prose(report.said[0])}</h1>
{more}
{steps}
{tables}
{f"<h2>{on_host}</h2><table>{cpu}</table>" if cpu else ""}
<h2>{phrase("Advice")}</h2>
{advice or '<p class="dim">' + phrase("No advice from the tuning table applies to this profile.") + "</p>"}
{f'<p class="dim">{prose(lacking)}</p>' if unjudged else ""}
{notes}""",
    )


def _known(one: Advice) -> str:
    """What an advice rests on."""
    return phrase(
        "Seen: {seen} · threshold: {threshold} · known from: {source} ({evidence})",
        seen=one.seen,
        threshold=one.threshold,
        source=one.source,
        evidence=one.evidence.value,
    )


def _table(rows: Sequence[Operator]) -> str:
    body = "".join(
        f'<tr><td><code>{prose(one.name)}</code></td><td>{prose(one.core)}</td><td class="number">{one.count}</td>'
        f'<td class="number">{one.time / 1000:.2f}</td><td class="number">{one.share:.1%}</td></tr>'
        for one in rows
    )
    head = (
        f'<th class="number">{phrase("Count")}</th><th class="number">{phrase("ms")}</th>'
        f'<th class="number">{phrase("Share")}</th>'
    )
    return f"<table><tr><th>{phrase('Name')}</th><th>{phrase('On')}</th>{head}</tr>{body}</table>"


def _bars(steps: Sequence[Step]) -> str:
    """One upright bar for each step, divided into computing, exposed communication and idle time."""
    shown = list(steps[:_STEPS])
    most = max((step.total for step in shown), default=0.0)
    if most <= 0:
        return ""
    width, parts_ = min(900 / len(shown), 60.0), []
    for number, step in enumerate(shown):
        pieces = (
            [("computing", step.computing), ("exposed", step.exposed or 0.0), ("idle", step.idle or 0.0)]
            if step.computing is not None
            else [("unknown", step.total)]
        )
        place = 160.0
        title = (
            f"<title>{prose(phrase('step {name}: {time} ms', name=step.name, time=f'{step.total / 1000:.3f}'))}</title>"
        )
        for name, time in pieces:
            height = 150 * (time or 0.0) / most
            place -= height
            parts_.append(
                f'<rect class="{name}" x="{number * width:.1f}" y="{place:.1f}" width="{max(width - 2, 1):.1f}" '
                f'height="{height:.1f}">{title}</rect>'
            )
    legend = (
        f'<b class="computing">&#9632;</b> {phrase("computing")} <b class="exposed">&#9632;</b> '
        f'{phrase("communication, exposed")} <b class="idle">&#9632;</b> {phrase("idle")}'
    )
    known = any(step.computing is not None for step in shown)
    if not known:
        legend = phrase("the whole step; its breakdown is unknown")
    more = (
        phrase("; the first {STEPS} of {number} are drawn", STEPS=_STEPS, number=len(steps))
        if len(steps) > _STEPS
        else ""
    )
    return (
        f'<p class="dim">{legend}{more}</p><figure><svg '
        f'viewBox="0 0 900 165" role="img" aria-label="{phrase("time of each step")}">{"".join(parts_)}</svg></figure>'
    )
