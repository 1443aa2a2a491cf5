"""A diagnosis as one HTML file that opens offline. Lines of logs are anybody's text: all of them are escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from npuify.html.escape import escaped, prose
from npuify.html.sheet import sheet
from npuify.language import phrase, told

from .model import Confidence
from .text import LATE, SURE, named, size_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .model import Diagnosis, Event, RankStory

_CLASS: Final = {
    Confidence.CLEAR: "error",
    Confidence.LIKELY: "error",
    Confidence.OPEN: "warning",
    Confidence.UNKNOWN: "warning",
    Confidence.NOTHING: "ok",
}
_RANKS_SHOWN: Final = 256


def render_html(diagnosis: Diagnosis) -> str:
    """The whole page: the cause first, then what the log says, then what to do."""
    d = diagnosis
    return sheet(
        command="diagnose",
        version=d.tool,
        source=size_of(d),
        title=d.cause or d.confidence.value,
        worst=_CLASS[d.confidence],
        heading=told(d.title),
        body="\n".join(_parts(d)),
        foot=phrase("Known from: {source} ({value})", source=d.source, value=d.evidence.value) if d.source else "",
    )


def _parts(d: Diagnosis) -> Iterator[str]:
    if d.confidence is not Confidence.NOTHING:
        sure = phrase("{cause}: {sure}", cause=d.cause or phrase("unknown"), sure=SURE[d.confidence])
        yield f'<p class="dim">{prose(sure)}</p>'
    if d.why:
        yield f"<p>{prose(d.why)}</p>"
    if d.first is not None:
        yield f"<h2>{phrase('What the log says')}</h2>"
        yield _event(d.first)
        yield from (f'<p class="dim">{prose(phrase("also: {event}", event=named(one)))}</p>' for one in d.also[:6])
    if d.exception or d.frame is not None or d.operator:
        yield f"<h2>{phrase('Where')}</h2>"
        rows = []
        if d.frame is not None:
            function = phrase(" in {name}", name=d.frame.function) if d.frame.function else ""
            rows.append((phrase("Own code"), f"{d.frame.file}:{d.frame.line}{function}"))
        rows += [(phrase("Exception"), d.exception), (phrase("Operator"), d.operator)]
        yield _table(rows)
        if d.late_stack and (d.frame is not None or d.exception):
            yield "".join(f'<p class="dim">{prose(line)}</p>' for line in LATE)
    if d.ranks:
        yield f"<h2>{phrase('Ranks')}</h2>"
        yield "<table>" + "".join(map(_rank, d.ranks[:_RANKS_SHOWN])) + "</table>"
        if len(d.ranks) > _RANKS_SHOWN:
            yield f'<p class="dim">{phrase("and {value} more", value=len(d.ranks) - _RANKS_SHOWN)}</p>'
    yield from (f"<p>{prose(note)}</p>" for note in d.notes)
    if d.question:
        yield f"<h2>{prose(d.question)}</h2>"
        yield _table(d.answers)
    if d.fix:
        yield f'<h2>{phrase("What to do")}</h2><article class="{_CLASS[d.confidence]}"><p>{prose(d.fix)}</p>'
        if d.commands:
            yield f"<pre>{escaped(chr(10).join(d.commands))}</pre>"
        yield "</article>"
    if d.findings:
        yield f"<h2>{phrase('In the project')}</h2>"
        yield _table((f"{one.file}:{one.line}", f"{one.code} {told(one.message)}") for one in d.findings)
    if d.excerpt:
        yield f"<h2>{phrase('The most informative lines')}</h2>"
        yield _table((f"{place.file}:{place.line}", place.text) for place in d.excerpt)
    if d.collect:
        yield f"<h2>{phrase('For further diagnosis, collect')}</h2>"
        yield "".join(f"<p>{prose(item)}</p>" for item in d.collect)


def _event(event: Event) -> str:
    about = [phrase("rank {rank}", rank=event.rank)] if event.rank else []
    about.append(f"{event.place.file}:{event.place.line}")
    about += [event.time] if event.time else []
    about += [phrase("{number} times", number=event.count)] if event.count > 1 else []
    return f'<p class="dim">{prose(", ".join(about))}</p><pre>{prose(event.place.text)}</pre>'


def _rank(story: RankStory) -> str:
    first = story.first
    said = named(first) if first is not None else ""
    time = first.time if first is not None else ""
    cells = (story.rank or "-", phrase(story.said), said, time)
    return "<tr>" + "".join(f"<td>{prose(cell)}</td>" for cell in cells) + "</tr>"


def _table(rows: Iterable[tuple[str, str]]) -> str:
    made = (f"<tr><th>{prose(name)}</th><td>{prose(value)}</td></tr>" for name, value in rows if value)
    return f"<table>{''.join(made)}</table>"
