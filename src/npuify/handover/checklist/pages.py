"""The checklist as text, Markdown, JSON and HTML."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from npuify.html.escape import escaped
from npuify.html.frame import framed
from npuify.language import commas, mark, padded, phrase, sentences
from npuify.model import NpuifyError
from npuify.report import printable
from npuify.report.in_language import as_json
from npuify.report.schemas import schema_of

if TYPE_CHECKING:
    from npuify.handover.checklist.points import Checklist, Judged, State

FORMATS: Final = ("text", "markdown", "json", "html")
GROUPS: Final = {
    "environment": mark("Environment"),
    "code": mark("Code"),
    "runs": mark("It runs"),
    "right": mark("It is right"),
    "fast": mark("It is fast"),
}
_MARKS: Final[dict[State, str]] = {
    "done": mark("done"),
    "open": mark("OPEN"),
    "failed": mark("FAILED"),
    "not done": mark("not done"),
    "nothing to do": mark("nothing to do"),
}
_STATES: Final[dict[State, str]] = {
    "done": mark("done"),
    "open": mark("open"),
    "failed": mark("failed"),
    "not done": mark("not done"),
    "nothing to do": mark("nothing to do"),
}
_WHERE: Final = {"hardware": mark("on hardware"), "simulation": "in simulation only", "cpu": "on the CPU only"}


def render(made: Checklist, format: str = "text") -> str:
    """The checklist in one of ``FORMATS``.

    Raises:
        NpuifyError: there is no such format.
    """
    if format == "json":
        return printable(as_json(made))
    if format == "text":
        return printable(_text(made))
    if format == "markdown":
        return printable(markdown(made))
    if format == "html":
        return printable(_html(made))
    raise NpuifyError(
        phrase("there is no format {format!r}", format=format),
        advice=phrase("formats: {formats}", formats=commas(FORMATS)),
    )


def schema() -> str:
    """The JSON Schema of ``npuify checklist --format json``."""
    from npuify.handover.checklist.points import VERSION, Checklist

    return schema_of(Checklist, "checklist", VERSION, "The state of each point of a project's migration")


def in_short(made: Checklist) -> str:
    """``5 done, 2 open, …``."""
    states: tuple[State, ...] = ("done", "open", "failed", "not done", "nothing to do")
    return commas(
        phrase("{number} {state}", number=made.count(state), state=phrase(_STATES[state]))
        for state in states
        if made.count(state)
    )


def basis(point: Judged) -> str:
    """What a state rests on, and where it was seen."""
    where = _WHERE.get(point.where, "")
    told = phrase("{where}: {what}", where=phrase(where), what=point.evidence) if where else phrase(point.evidence)
    return f"{told} [{point.file}]" if point.file else told


def _text(made: Checklist) -> str:
    lines = [phrase("Migration of {project}: {in_short}.", project=made.project, in_short=in_short(made))]
    lines.append(phrase("Target: {target}.", target=made.target))
    for group, points in groupby(made.points, key=lambda point: point.group):
        lines += ["", phrase(GROUPS[group])]
        for point in points:
            lines.append(f"  {padded(phrase(_MARKS[point.state]), 13)}  {point.title}")
            lines.append(f"                 {basis(point)}")
            if point.how:
                lines.append(phrase("                 to do: {how}", how=point.how))
    return "\n".join([*lines, ""])


def markdown(made: Checklist) -> str:
    """Boxes to tick: what is done is ticked."""
    lines = [phrase("# Migration of {project}", project=_plain(made.project)), ""]
    lines += [phrase("{in_short}.", in_short=in_short(made).capitalize()), ""]
    lines += [phrase("Target: {target}.", target=_plain(made.target)), ""]
    for group, points in groupby(made.points, key=lambda point: point.group):
        lines += [f"## {phrase(GROUPS[group])}", ""]
        for point in points:
            box = "x" if point.state in ("done", "nothing to do") else " "
            state = phrase("**{title}**: {state}.", title=point.title, state=phrase(_STATES[point.state]))
            lines.append(f"- [{box}] {sentences(state, _plain(basis(point)))}")
            if point.how:
                lines.append(phrase("  To do: {plain}", plain=_plain(point.how)))
        lines.append("")
    lines.append(phrase("What was not done is marked as such; nothing here was seen on hardware unless it says so."))
    return "\n".join([*lines, ""])


def _plain(text: str) -> str:
    """Prose on one line in which nothing is markup."""
    flat = " ".join(text.split())
    return "".join(f"\\{character}" if character in "\\`*_<>[]|#" else character for character in flat)


_STYLE: Final = """
h1{font-size:1.5rem}td{padding:.35rem .8rem .35rem 0}td:first-child{white-space:nowrap;font-weight:600}
.done{color:var(--good)}.failed,.open{color:var(--bad)}.not-done{color:var(--warn)}.nothing-to-do{color:var(--dim)}
"""


def _html(made: Checklist) -> str:
    body = []
    for group, points in groupby(made.points, key=lambda point: point.group):
        rows = "".join(_row(point) for point in points)
        body.append(f"<h2>{escaped(phrase(GROUPS[group]))}</h2>\n<table>{rows}</table>")
    target = phrase("target: {target}", target=made.target)
    return framed(
        phrase("npuify: migration of {project}", project=made.project),
        _STYLE,
        f"""<p class="dim">npuify checklist {escaped(made.tool)} · {escaped(target)}</p>
<h1>{escaped(phrase("Migration of {project}", project=made.project))}</h1>
<p>{escaped(in_short(made))}</p>
{"".join(body)}""",
    )


def _row(point: Judged) -> str:
    todo = f'<br><span class="dim">{escaped(phrase("to do: {how}", how=point.how))}</span>' if point.how else ""
    kind = point.state.replace(" ", "-")
    return (
        f'<tr><td class="{kind}">{escaped(phrase(_STATES[point.state]))}</td><td>{escaped(point.title)}<br>'
        f'<span class="dim">{escaped(basis(point))}</span>{todo}</td></tr>'
    )
