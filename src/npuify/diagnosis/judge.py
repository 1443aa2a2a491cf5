"""From what the ranks said to the diagnosis: its event is chosen by :mod:`npuify.diagnosis.choose`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from npuify.knowledge.failures.causes import causes
from npuify.knowledge.failures.components import component_of
from npuify.language import phrase, sentences
from npuify.language.shell import command_in_language
from npuify.model import Evidence
from npuify.version import __version__

from .choose import best as best_of
from .choose import loudest, yield_to_first
from .closer import of_its_package, only_repeats, that_says_more, title_of, while_built
from .known.nearest import nearest
from .known.recognize import UNEXPLAINED
from .known.sentences import sentence_of_line
from .lines import split_head
from .model import Confidence, Diagnosis, Event, Frame, Place, RankStory
from .ranks import in_one_calendar
from .stems import STEP
from .stories import named, notes_of, stories_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.knowledge.failures.causes import Cause
    from npuify.knowledge.failures.sentences import Sentence

    from .collect import Collector
    from .known.nearest import Near
    from .ranks import Raised, Rank

COLLECT: Final = (
    "the full output of every rank, not only rank 0: torchrun --log-dir DIR --redirects 3",
    "CANN's own logs: the newest files in ~/ascend/log/debug/plog, or where ASCEND_PROCESS_LOG_PATH points",
    "the same run with ASCEND_LAUNCH_BLOCKING=1 and, if that shows nothing, ASCEND_GLOBAL_LOG_LEVEL=1",
    "a description of the machine: npuify doctor --capture machine.json",
)

_LIKE_EXCERPT: Final = 0.20
_LIKE_ERROR: Final = 0.35
_SHARED: Final = 12.0
"""The least likeness of a known failure that is told, for a short excerpt without any known line and for an error, and
the least that the shared words weigh. On the left-out rounds about four of nine of the guesses that this lets through
are right; below, fewer."""


def judge(collector: Collector) -> Diagnosis:
    """The diagnosis of everything that was collected so far."""
    ranks = list(collector.joined())
    in_one_calendar(ranks)
    if collector.first_failed.exit_code > 0:
        for rank in ranks:
            yield_to_first(rank)
    best = best_of(ranks, collector.first_failed.rank)
    if best is None:
        return _without_event(collector, ranks)
    rank, key = best
    event = of_its_package(rank, while_built(rank, rank.events[key]), ranks)
    exception, frame = _exception(rank, event)
    if event.name == UNEXPLAINED.name:
        return _script_error(collector, ranks, rank, event)
    if event.role == "hint" and event.weight <= 30 and not any(one.exceptions or one.suspects for one in ranks):
        return _nothing(collector, ranks, event.cause)
    known = only_repeats(exception) or event.name in exception
    if event.role in ("wrapper", "hint") and event.weight <= 30 and exception and not known:
        # The log ends in an exception that nothing is known of; a warning before it is not its cause.
        return _script_error(collector, ranks, rank)
    also = sorted(
        (one for other, one in rank.events.items() if other != key and one.role in ("cause", "wrapper")),
        key=lambda one: -one.weight,
    )[:6]
    return _with_event(collector, ranks, rank, event, also, exception, frame)


def _with_event(
    collector: Collector,
    ranks: list[Rank],
    rank: Rank,
    event: Event,
    also: list[Event],
    exception: str,
    frame: Frame | None,
) -> Diagnosis:
    """The diagnosis that rests on one event of a rank; ``also`` is what else that rank says."""
    fact = causes().get(event.cause)
    said = that_says_more(rank, event)
    waited = sorted({number for one in ranks for number in one.waits_for}, key=int)
    given = {one.number for one in ranks if one.number}
    silent = tuple(one for one in waited if one in given and not any(r.number == one and loudest(r) for r in ranks))
    return Diagnosis(
        tool=__version__,
        confidence=_confidence(event, bool(fact is not None and fact.question)),
        cause=event.cause,
        title=title_of(fact, exception, frame, said) if fact is not None else event.meaning,
        why=said.why or (fact.why if fact is not None else ""),
        fix=said.fix or (fact.fix if fact is not None else ""),
        commands=tuple(map(command_in_language, fact.commands)) if fact is not None else (),
        evidence=event.evidence,
        source=event.source,
        first=named(event, rank),
        also=tuple(named(one, rank) for one in also),
        exception=exception,
        frame=frame,
        operator=rank.operator,
        late_stack=bool(fact is not None and fact.late),
        question=fact.question if fact is not None else "",
        answers=fact.answers if fact is not None else (),
        ranks=stories_of(ranks, rank, event),
        waited_for=tuple(waited),
        silent=silent,
        findings=(),
        excerpt=(),
        collect=COLLECT if event.role in ("wrapper", "consequence") else (),
        notes=notes_of(collector, ranks, rank, event, waited, silent, given),
        files=collector.files,
        lines=collector.sifter.lines,
        bytes=collector.sifter.bytes,
    )


def _confidence(event: Event, has_question: bool) -> Confidence:
    if event.role in ("wrapper", "hint"):
        return Confidence.LIKELY if event.weight >= 30 else Confidence.OPEN
    if has_question:
        return Confidence.OPEN
    return Confidence.CLEAR if event.weight >= 75 else Confidence.LIKELY


def _exception(rank: Rank, event: Event) -> tuple[str, Frame | None]:
    """The exception that belongs to the event: the nearest one, else the first."""
    if not rank.exceptions:
        return "", None
    same = [one for one in rank.exceptions if one.place.file == event.place.file]
    nearest = min(same or rank.exceptions, key=lambda one: abs(one.place.line - event.place.line))
    if nearest.frame is None:
        with_frame = next((one for one in rank.exceptions if one.frame is not None), None)
        return nearest.text, with_frame.frame if with_frame is not None else None
    return nearest.text, nearest.frame


def _without_event(collector: Collector, ranks: list[Rank]) -> Diagnosis:
    failed = next((rank for rank in ranks if rank.number == collector.first_failed.rank and rank.exceptions), None)
    with_exception = failed or next((rank for rank in ranks if rank.exceptions), None)
    if with_exception is not None:
        return _script_error(collector, ranks, with_exception)
    noise = any(one.events for one in ranks)
    if noise and not any(rank.suspects for rank in ranks):
        return _nothing(collector, ranks, "")
    said = _said(collector, *(place.text for rank in ranks for place in rank.suspects))
    suspects = tuple(place for rank in ranks for place in rank.suspects[:6])[:12]
    near, asked, read = None, bool(suspects), suspects
    if any(not split_head(place.text).light for place in suspects) or collector.sifter.sounds_failed():
        near = _nearest(said, least=_LIKE_ERROR if suspects else _LIKE_EXCERPT)
    if not suspects and collector.sifter.sounds_failed():
        last = collector.sifter.excerpt()
        start = collector.sifter.lines - len(last)
        last_lines = tuple(
            Place(collector.sifter.file, start + number, line[:200])
            for number, line in enumerate(last, 1)
            if line.strip()
        )
        read = last_lines
        suspects = last_lines[-5:] if near is not None or _reads(last_lines) is not None else ()
    base = _empty(
        collector,
        Confidence.UNKNOWN if suspects else Confidence.NOTHING,
        phrase("npuify recognizes nothing in these logs") if suspects else phrase("No failure found"),
        excerpt=suspects,
        collect=COLLECT,
    )
    guess = _guess(base, suspects) if asked else base
    guess = guess if guess.cause else _read(base, read)
    return guess if guess.cause or near is None else _like(base, near)


def _reads(places: Sequence[Place]) -> Sentence | None:
    """The row that reads the first of the lines that any row reads."""
    heads = (split_head(place.text) for place in places)
    return next((row for head in heads if not head.light and (row := sentence_of_line(head.message))), None)


def _read(base: Diagnosis, places: Sequence[Place]) -> Diagnosis:
    """What a line of which nothing is known says by its sentence: a guess, and called that."""
    row = _reads(places)
    if row is None:
        return base
    fact = causes()[row.cause]
    why = phrase("A guess by the sentence of one line alone: {title}.", title=phrase(fact.title))
    return msgspec.structs.replace(base, cause=fact.id, why=sentences(why, row.why), fix=row.fix or fact.fix)


def _guess(base: Diagnosis, suspects: Sequence[Place]) -> Diagnosis:
    """What the first of unknown lines that names a part of the machine is about: a guess, and called that."""
    part = next((part for place in suspects if (part := component_of(place.text)) is not None), None)
    if part is None:
        return base
    fact = causes()[part.cause]
    return msgspec.structs.replace(
        base,
        cause=fact.id,
        why=phrase(
            "A guess by words alone: the lines are about {about}, of which errors usually mean: {title}.",
            about=phrase(part.about),
            title=phrase(fact.title),
        ),
        fix=fact.fix,
    )


def _said(collector: Collector, *lines: str) -> str:
    """``lines``, and of a short log of one process all lines but those that tell of a step."""
    excerpt = collector.sifter.excerpt() if len(collector.ranks) <= 1 else ()
    return "\n".join((*(line for line in excerpt if not STEP.search(line.encode("utf-8", "replace"))), *lines))


def _nearest(said: str, *, least: float) -> Near | None:
    """The known failure that lines are nearest to; None where none is near enough to be worth telling."""
    near = next(iter(nearest(said)), None)
    return near if near is not None and near.likeness >= least and near.shared >= _SHARED else None


def _like(base: Diagnosis, near: Near) -> Diagnosis:
    fact = causes()[near.cause]
    if not near.source:
        why = phrase(
            "A guess by words alone: the lines speak as logs do of this (likeness {likeness}): {title}.",
            likeness=f"{near.likeness:.2f}",
            title=phrase(fact.title),
        )
        return msgspec.structs.replace(base, cause=fact.id, why=why, fix=fact.fix)
    return msgspec.structs.replace(
        base,
        cause=fact.id,
        why=phrase(
            "A guess by words alone: of the failures that are known these lines are nearest to {source} (likeness "
            "{likeness}), which was: {title}.",
            source=near.source,
            likeness=f"{near.likeness:.2f}",
            title=phrase(fact.title),
        ),
        fix=fact.fix,
        source=near.source,
    )


def _nothing(collector: Collector, ranks: list[Rank], cause: str) -> Diagnosis:
    """Warnings, and what is printed at the end of good runs, are no failure."""
    said: dict[str, Event] = {}
    for rank in ranks:
        for event in rank.events.values():
            if event.role == "hint":
                event = msgspec.structs.replace(event, why=event.why or f"a warning: {causes()[event.cause].title}")
            said.setdefault(event.name, named(event, rank))
    base = _empty(collector, Confidence.NOTHING, phrase("No failure found"))
    return msgspec.structs.replace(base, cause=cause, noise=tuple(said.values()))


def _script_error(collector: Collector, ranks: list[Rank], rank: Rank, event: Event | None = None) -> Diagnosis:
    """An exception of which nothing more is known: the program's own, as far as anybody can tell."""
    owner, (place, text, frame, _, inside) = _first_exception(ranks, rank, event)
    fact = causes()["script-error"]
    base = _empty(
        collector,
        Confidence.UNKNOWN,
        title_of(fact, text, frame),
        excerpt=(place, *owner.suspects[:5]),
        collect=COLLECT,
    )
    stories = tuple(
        RankStory(
            rank=one.name(),
            first=None,
            said="first cause" if one is owner else "other error" if one.exceptions or one.events else "no error",
        )
        for one in ranks
    )
    unexplained = event is None or event.name == UNEXPLAINED.name
    near = _nearest(_said(collector, text), least=_LIKE_ERROR) if unexplained else None
    if near is not None and near.cause not in (fact.id, "peer-ended"):
        base = _like(base, near)
        return msgspec.structs.replace(
            base,
            exception=text,
            frame=frame,
            operator=owner.operator,
            ranks=stories if len(stories) > 1 else (),
        )
    return msgspec.structs.replace(
        base,
        cause=fact.id,
        why=_why(event, fact, inside),
        fix=(event.fix if event is not None else "") or fact.fix,
        exception=text,
        frame=frame,
        operator=owner.operator,
        ranks=stories if len(stories) > 1 else (),
    )


def _why(event: Event | None, fact: Cause, inside: str) -> str:
    why = (event.why if event is not None else "") or fact.why
    if not inside:
        return why
    return f"{why} " + phrase("The package {inside} raised it, called by the program.", inside=inside)


def _first_exception(ranks: list[Rank], rank: Rank, event: Event | None) -> tuple[Rank, Raised]:
    """The exception of an event; else the first of all ranks that says more than that another one failed."""
    said = [one for one in rank.exceptions if event is not None and one.place == event.place]
    if said:
        return rank, said[0]
    ordered = [
        (one.when if one.when >= 0 else float("inf"), order, owner, one)
        for order, owner in enumerate(ranks)
        for one in owner.exceptions
        if not only_repeats(one.text)
    ]
    if not ordered:
        return rank, rank.exceptions[0]
    _, _, owner, first = min(ordered, key=lambda item: item[:2])
    return owner, first


def _empty(
    collector: Collector,
    confidence: Confidence,
    title: str,
    *,
    excerpt: tuple[Place, ...] = (),
    collect: tuple[str, ...] = (),
) -> Diagnosis:
    return Diagnosis(
        tool=__version__,
        confidence=confidence,
        cause="",
        title=title,
        why="",
        fix="",
        commands=(),
        evidence=Evidence.ASSUMED,
        source="",
        first=None,
        also=(),
        exception="",
        frame=None,
        operator="",
        late_stack=False,
        question="",
        answers=(),
        ranks=(),
        waited_for=(),
        silent=(),
        findings=(),
        excerpt=excerpt,
        collect=collect if confidence is not Confidence.NOTHING else (),
        notes=(),
        files=collector.files,
        lines=collector.sifter.lines,
        bytes=collector.sifter.bytes,
    )
