"""A diagnosis for a person, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from npuify.language import ENGLISH, mark, phrase, plural, spoken, told
from npuify.report import printable, schema_text
from npuify.report.in_language import as_json

from .model import Confidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .model import Diagnosis, Event

SURE: Final = {
    Confidence.CLEAR: "the log names it",
    Confidence.LIKELY: "the usual cause of what the log says",
    Confidence.OPEN: "several causes fit; the question below distinguishes them",
    Confidence.UNKNOWN: "not known to npuify",
}
LATE: Final = (
    "This is where the program waited: launches are asynchronous, so the operator was called earlier.",
    "Rerun with ASCEND_LAUNCH_BLOCKING=1 to find the actual place.",
)
SAID: Final = (
    mark("first cause"),
    mark("same cause"),
    mark("consequence"),
    mark("other error"),
    mark("no error"),
)
"""What a rank's story can be called."""
_RANKS_SHOWN: Final = 12


def named(event: Event) -> str:
    """An event by its name, and by what that means where anything more is known than its words."""
    if spoken() != ENGLISH and event.meaning == event.name.replace("-", " "):
        return event.name
    return phrase("{name}, {meaning}", name=event.name, meaning=event.meaning)


def size_of(diagnosis: Diagnosis) -> str:
    """How much was read."""
    return plural(
        "{lines} lines in {count} file", "{lines} lines in {count} files", diagnosis.files, lines=diagnosis.lines
    )


def render_json(diagnosis: Diagnosis) -> str:
    """The diagnosis as JSON; ``version`` says which form."""
    return printable(as_json(diagnosis))


def json_schema() -> str:
    """The JSON Schema of what :func:`render_json` writes."""
    from .model import VERSION, Diagnosis

    return schema_text(Diagnosis, "diagnose", "What npuify found in logs", VERSION)


def render_brief(diagnosis: Diagnosis) -> str:
    """One line, for a log that is still being written."""
    first = diagnosis.first
    where = phrase(" (rank {rank})", rank=first.rank) if first is not None and first.rank else ""
    at = phrase(", line {line}", line=first.place.line) if first is not None else ""
    return printable(
        phrase(
            "so far{at}: {title}{where} [{cause}]\n", at=at, title=diagnosis.title, where=where, cause=diagnosis.cause
        )
    )


def render_text(diagnosis: Diagnosis) -> str:
    """The cause first, then the evidence, then what to do."""
    return printable("\n".join(_lines(diagnosis)) + "\n")


def _lines(d: Diagnosis) -> Iterator[str]:
    size = size_of(d)
    if d.confidence is Confidence.NOTHING:
        yield phrase("No failure found ({size}).", size=size)
        if d.noise:
            noise = (
                phrase("{line} ({why})", line=f"{one.place.file}:{one.place.line}: {one.place.text[:160]}", why=one.why)
                for one in d.noise
            )
            yield from _section(phrase("Taken for harmless"), noise)
        return
    yield phrase("{title}.", title=d.title)
    yield "  " + phrase("{cause}: {sure}", cause=d.cause or phrase("unknown"), sure=SURE[d.confidence])
    if d.why:
        yield f"  {told(d.why)}"
    if d.first is not None:
        yield ""
        yield phrase("What the log says")
        yield from _event(d.first)
        for event in d.also[:3]:
            yield "  " + phrase("also: {event}", event=named(event))
    if d.exception or d.frame is not None or d.operator:
        yield from _section(phrase("Where"), _where(d))
    if d.ranks:
        yield from _section(phrase("Ranks"), _ranks(d))
    for note in d.notes:
        yield from _section(note, ())
    if d.question:
        yield from _section(
            d.question,
            ("- " + phrase("{answer}: {todo}", answer=phrase(answer), todo=todo) for answer, todo in d.answers),
        )
    if d.fix:
        yield from _section(phrase("What to do"), (d.fix, *(f"  {command}" for command in d.commands)))
    if d.findings:
        found = (f"{finding.file}:{finding.line}: {finding.code} {told(finding.message)}" for finding in d.findings)
        yield from _section(phrase("In the project"), found)
    if d.excerpt:
        shown = (f"{place.file}:{place.line}: {place.text}" for place in d.excerpt)
        yield from _section(phrase("The most informative lines"), shown)
    if d.collect:
        yield from _section(phrase("For further diagnosis, collect"), (f"- {told(item)}" for item in d.collect))
    yield ""
    if d.source:
        yield phrase("Known from: {source} ({value})", source=d.source, value=d.evidence.value)
    yield phrase("Read: {size}", size=size)


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield ""
    yield told(title)
    for line in lines:
        yield f"  {told(line)}"


def _where(d: Diagnosis) -> Iterator[str]:
    if d.frame is not None:
        yield f"{d.frame.file}:{d.frame.line}" + (
            phrase(" in {name}", name=d.frame.function) if d.frame.function else ""
        )
    if d.exception:
        yield d.exception
    if d.operator:
        yield phrase("operator: {name}", name=d.operator)
    if d.late_stack and (d.frame is not None or d.exception):
        yield from LATE


def _ranks(d: Diagnosis) -> Iterator[str]:
    for story in d.ranks[:_RANKS_SHOWN]:
        first = story.first
        yield phrase(
            "{rank}: {said}{first}{time}",
            rank=story.rank or "-",
            said=phrase(story.said),
            first=phrase(": {event}", event=named(first)) if first else "",
            time=f", {first.time}" if first and first.time else "",
        )
    if len(d.ranks) > _RANKS_SHOWN:
        yield phrase("and {value} more", value=len(d.ranks) - _RANKS_SHOWN)


def _event(event: Event) -> Iterator[str]:
    rank = phrase("rank {rank}, ", rank=event.rank) if event.rank else ""
    time = f", {event.time}" if event.time else ""
    times = phrase(", {number} times", number=event.count) if event.count > 1 else ""
    yield f"  {rank}{event.place.file}:{event.place.line}{time}{times}"
    yield f"  {event.place.text}"
