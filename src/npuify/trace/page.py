"""A trace as one HTML page that opens offline and runs no script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from npuify.html.escape import prose, shortened
from npuify.html.frame import framed
from npuify.language import phrase, plural
from npuify.trace.result import Support
from npuify.trace.summary import ORDER, TITLES, counts, operators
from npuify.trace.text import heading, remarks
from npuify.version import __version__

if TYPE_CHECKING:
    from npuify.trace.result import Call, TraceResult
    from npuify.trace.summary import Operator

_CALLS = 60
"""Calls shown for one operator."""


def page(result: TraceResult) -> str:
    """The whole page. Whatever comes from the traced program is escaped."""
    style = (Path(__file__).resolve().parent / "page.css").read_text(encoding="utf-8")
    found = counts(result)
    rows = operators(result)
    sections = [_section(support, [row for row in rows if row.support is support]) for support in ORDER]
    tiles = "".join(
        f'<div class="tile {support.value}"><b>{found[support]}</b> <span>{prose(TITLES[support])}</span></div>'
        for support in reversed(ORDER)
        if found[support] or support is Support.KERNEL
    )
    failure = ""
    if result.failure is not None:
        place = f"{result.failure.file}:{result.failure.line}: " if result.failure.file else ""
        failure = (
            '<p class="failure">'
            + prose(
                phrase(
                    "The program failed: {error}",
                    error=f"{place}{result.failure.kind}: {result.failure.message}",
                )
            )
            + "</p>"
        )
    notes = "".join(f"<li>{prose(text)}</li>" for text in remarks(result))
    cost = phrase(
        "npuify {version}. Traced in {seconds} s, {memory} MiB of memory at most.",
        version=__version__,
        seconds=f"{result.seconds:.1f}",
        memory=f"{result.peak_memory / 2**20:.0f}",
    )
    return framed(
        phrase("npuify trace: {shortened}", shortened=shortened(result.script, 80)),
        style,
        f"""<h1>{prose(phrase("Operators of {script}", script=shortened(result.script, 120)))}</h1>
<p class="dim">{prose(heading(result))}</p>
{failure}
<div class="tiles">{tiles}</div>
{"".join(sections)}
<h2>{phrase("What to know")}</h2>
<ul>{notes}</ul>
<p class="dim">{prose(cost)}</p>""",
    )


def _section(support: Support, rows: list[Operator]) -> str:
    if not rows:
        return ""
    title = phrase(TITLES[support])
    body = "".join(_operator(row) for row in rows)
    return f'<h2 class="{support.value}">{prose(title[0].upper() + title[1:])} <small>{len(rows)}</small></h2>{body}'


def _operator(row: Operator) -> str:
    lines = "".join(_call(call) for call in row.calls[:_CALLS])
    rest = len(row.calls) - _CALLS
    more = f"<p class='dim'>{phrase('and {value} more', value=rest)}</p>" if rest > 0 else ""
    places = plural("{count} line", "{count} lines", row.places)
    message = (
        f'<p>{prose(row.message)} <span class="dim">({prose(row.calls[0].evidence.value)}: '
        f"{prose(row.calls[0].source)})</span></p>"
        if row.message
        else ""
    )
    return (
        f"<details><summary><code>{prose(row.name)}</code> <b>{row.times}</b> "
        f'<span class="dim">{places}</span></summary>{message}'
        f"<table><tr><th>{phrase('calls')}</th><th>{phrase('line')}</th><th>{phrase('phase')}</th><th>{phrase('inputs')}</th><th>{phrase('results')}</th></tr>{lines}</table>"
        f"{more}</details>"
    )


def _call(call: Call) -> str:
    return (
        f"<tr><td>{call.count}</td><td><code>{prose(call.file)}:{call.line}</code></td><td>{prose(call.phase)}</td>"
        f"<td>{prose(', '.join(call.inputs))}</td><td>{prose(', '.join(call.outputs))}</td></tr>"
    )
