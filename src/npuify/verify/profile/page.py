"""A report on a profile as one HTML file that opens offline: no script, no address, everything escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from npuify.html.escape import prose, shortened
from npuify.html.frame import framed
from npuify.language import phrase
from npuify.version import __version__

from .text import parts, steps_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .model import Operator, ProfileReport, Step

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
        f"<h2>{title}</h2>{_table(rows)}"
        for title, rows in (
            ("Kernels", report.operators),
            ("Communication", report.communications),
            ("Operators on the host, self time", report.host_operators),
        )
        if rows
    )
    advice = "".join(
        f"<article><p><b>{prose(one.id)} {prose(one.topic)}</b></p><p>{prose(one.advice)}</p>"
        + (f"<p>But: {prose(one.caveat)}</p>" if one.caveat else "")
        + f'<p class="dim">Seen: {prose(one.seen)} · threshold: {prose(one.threshold)} · '
        f"known from: {prose(one.source)} ({one.evidence.value})</p></article>"
        for one in report.advice
    )
    cpu = "".join(
        f'<tr><td><code>{prose(one.name)}</code></td><td class="number">{one.count}</td>'
        f"<td>{prose(one.evidence)}</td></tr>"
        for one in report.fallbacks
    )
    unjudged = ", ".join(f"{one.id} (lacks {', '.join(one.lacks)})" for one in report.unjudged)
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
{f"<h2>On the host's CPU</h2><table>{cpu}</table>" if cpu else ""}
<h2>Advice</h2>
{advice or '<p class="dim">No advice from the tuning table applies to this profile.</p>'}
{f'<p class="dim">Not judged, since the profile lacks the data they need: {prose(unjudged)}</p>' if unjudged else ""}
{notes}""",
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
        title = f"<title>step {prose(step.name)}: {step.total / 1000:.3f} ms</title>"
        for name, time in pieces:
            height = 150 * (time or 0.0) / most
            place -= height
            parts_.append(
                f'<rect class="{name}" x="{number * width:.1f}" y="{place:.1f}" width="{max(width - 2, 1):.1f}" '
                f'height="{height:.1f}">{title}</rect>'
            )
    legend = (
        f'<b class="computing">&#9632;</b> {phrase("computing")} <b class="exposed">&#9632;</b> communication, exposed '
        '<b class="idle">&#9632;</b> idle'
    )
    known = any(step.computing is not None for step in shown)
    more = (
        phrase("; the first {STEPS} of {number} are drawn", STEPS=_STEPS, number=len(steps))
        if len(steps) > _STEPS
        else ""
    )
    return (
        f'<p class="dim">{legend if known else "the whole step; its breakdown is unknown"}{more}</p><figure><svg '
        f'viewBox="0 0 900 165" role="img" aria-label="{phrase("time of each step")}">{"".join(parts_)}</svg></figure>'
    )
