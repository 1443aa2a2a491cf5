"""From what the ranks said to the first cause.

A rank that waited for another says so loudly, and often first; it is not the cause. So what counts is, in this order:
does the text name a cause or a consequence, how surely, and, among ranks that name causes, which was first in time.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.knowledge.failures import causes
from npuify.language import commas, phrase
from npuify.model import Evidence
from npuify.version import __version__

from .model import Confidence, Diagnosis, Event, Frame, Place, RankStory
from .recognize import UNEXPLAINED

if TYPE_CHECKING:
    from npuify.knowledge.failures import Cause

    from .collect import Collector
    from .ranks import Raised, Rank

_CLOSE: Final = 15
"""Weights that differ by less are alike, and time decides."""

_SAME_MOMENT: Final = 0.5
"""Seconds within which nothing is said about who was first: parts of one failure are logged one after another."""

_LOUD: Final = 55
"""Weight from which a consequence is more than a guess."""

_SAYS_MUCH: Final = 40
"""Weight from which a hint says more than a launcher does."""

_LAUNCHER: Final = 20
"""The most that it counts that a launcher ends its processes."""

_ROLES: Final = {"cause": 0, "consequence": 1, "stop": 2, "wrapper": 4, "hint": 5}

COLLECT: Final = (
    "the full output of every rank, not only rank 0: torchrun --log-dir DIR --redirects 3",
    "CANN's own logs: the newest files in ~/ascend/log/debug/plog, or where ASCEND_PROCESS_LOG_PATH points",
    "the same run with ASCEND_LAUNCH_BLOCKING=1 and, if that shows nothing, ASCEND_GLOBAL_LOG_LEVEL=1",
    "a description of the machine: npuify doctor --capture machine.json",
)


def judge(collector: Collector) -> Diagnosis:
    """The diagnosis of everything that was collected so far."""
    ranks = list(collector.joined())
    if collector.first_exit > 0:
        for rank in ranks:
            _yield_to_first(rank)
    best = _best(ranks, collector.first_failed)
    if best is None:
        return _without_event(collector, ranks)
    rank, key = best
    event = rank.events[key]
    exception, frame = _exception(rank, event)
    if event.name == UNEXPLAINED.name:
        return _script_error(collector, ranks, rank, event)
    if event.role == "hint" and event.weight <= 30 and not any(one.exceptions or one.suspects for one in ranks):
        return _nothing(collector, ranks, event.cause)
    known = _only_repeats(exception) or event.name in exception
    if event.role in ("wrapper", "hint") and event.weight <= 30 and exception and not known:
        # The log ends in an exception that nothing is known of; a warning before it is not its cause.
        return _script_error(collector, ranks, rank)
    also = sorted(
        (one for other, one in rank.events.items() if other != key and one.role in ("cause", "wrapper")),
        key=lambda one: -one.weight,
    )[:6]
    return _with_event(collector, ranks, rank, event, also, exception, frame)


_ENDED_BY_LAUNCHER: Final = re.compile(r"exitcode\s*: -(?:9|15)\b|Signal (?:9|15) \(SIG\w+\) received")


def _yield_to_first(rank: Rank) -> None:
    """Make consequences of what torchrun's table says of ranks that it ended after the first had failed by itself."""
    for key, event in rank.events.items():
        if event.cause in ("killed", "interrupted") and _ENDED_BY_LAUNCHER.search(event.place.text):
            rank.events[key] = msgspec.structs.replace(
                event, role="consequence", cause="peer-ended", weight=_LAUNCHER, why="", fix=""
            )


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
    waited = sorted({number for one in ranks for number in one.waits_for}, key=int)
    given = {one.number for one in ranks if one.number}
    silent = tuple(one for one in waited if one in given and not any(r.number == one and _loudest(r) for r in ranks))
    return Diagnosis(
        tool=__version__,
        confidence=_confidence(event, bool(fact is not None and fact.question)),
        cause=event.cause,
        title=_title(fact, exception, frame) if fact is not None else event.meaning,
        why=event.why or (fact.why if fact is not None else ""),
        fix=event.fix or (fact.fix if fact is not None else ""),
        commands=fact.commands if fact is not None else (),
        evidence=event.evidence,
        source=event.source,
        first=_named(event, rank),
        also=tuple(_named(one, rank) for one in also),
        exception=exception,
        frame=frame,
        operator=rank.operator,
        late_stack=bool(fact is not None and fact.late),
        question=fact.question if fact is not None else "",
        answers=fact.answers if fact is not None else (),
        ranks=_stories(ranks, rank, event),
        waited_for=tuple(waited),
        silent=silent,
        findings=(),
        excerpt=(),
        collect=COLLECT if event.role in ("wrapper", "consequence") else (),
        notes=_notes(collector, ranks, rank, event, waited, silent, given),
        files=collector.files,
        lines=collector.lines,
        bytes=collector.bytes,
    )


def _best(ranks: list[Rank], first_failed: str) -> tuple[Rank, tuple[str, str]] | None:
    """The rank and event that the diagnosis rests on."""
    candidates = []
    for order, rank in enumerate(ranks):
        key = _loudest(rank)
        if key is not None:
            candidates.append((rank, key, order))
    if not candidates:
        return None

    def tier(item: tuple[Rank, tuple[str, str], int]) -> int:
        event = item[0].events[item[1]]
        if event.role == "cause":
            return 0 if event.weight > 30 else 1
        if event.role == "hint" and event.weight >= _SAYS_MUCH:
            return 2
        if event.role == "stop" and all(_came_first(item, other) for other in candidates if other is not item):
            return 1
        return 1 + _role(event)

    best_tier = min(map(tier, candidates))
    chosen = [item for item in candidates if tier(item) == best_tier]
    if len(chosen) > 1:
        named = [item for item in chosen if item[0].number == first_failed and first_failed]
        timed = [item for item in chosen if item[0].order[item[1]] >= 0]
        if len(timed) == len(chosen):
            # An unclear code yields to a clear one that was said at nearly the same moment.
            first = min(item[0].order[item[1]] for item in chosen)
            chosen = [item for item in chosen if item[0].order[item[1]] - first <= _SAME_MOMENT]
            chosen.sort(
                key=lambda item: (
                    -(item[0].events[item[1]].weight // _CLOSE),
                    item[0].order[item[1]],
                    -item[0].events[item[1]].weight,
                    item[2],
                )
            )
        elif named:
            chosen = named
        else:
            chosen.sort(key=lambda item: (-item[0].events[item[1]].weight, item[2]))
    return chosen[0][0], chosen[0][1]


def _came_first(stop: tuple[Rank, tuple[str, str], int], other: tuple[Rank, tuple[str, str], int]) -> bool:
    """Whether somebody stopped the program before ``other`` waited in vain; else the waiting is why it was stopped."""
    event, later = stop[0].events[stop[1]], other[0].events[other[1]]
    if later.role != "consequence" or later.cause == "peer-ended":
        return True
    when, after = stop[0].order[stop[1]], other[0].order[other[1]]
    return when <= after if when >= 0 and after >= 0 else _before(event.place, later.place)


def _loudest(rank: Rank) -> tuple[str, str] | None:
    """The event of a rank that says most: a cause rather than a consequence, the surest, and of those the first."""
    said = [key for key, event in rank.events.items() if event.role != "noise"]
    if not said:
        return None
    waited = [
        event.place
        for event in rank.events.values()
        if event.role == "consequence" and event.weight >= _LOUD and event.cause != "peer-ended"
    ]

    def value(key: tuple[str, str]) -> tuple[int, int, float, int, int]:
        event = rank.events[key]
        when = rank.order[key]
        role = _role(event)
        if event.role == "hint" and event.weight >= _SAYS_MUCH:
            role = 1
        if event.name.startswith("python-") and any(_before(place, event.place) for place in waited):
            # What a rank's Python code says after it waited in vain is what its clean-up ran into.
            role = 2
        return role, -(event.weight // _CLOSE), when if when >= 0 else 0.0, event.place.line, -event.weight

    return min(said, key=value)


def _role(event: Event) -> int:
    """How near a role is to the cause.

    That another rank ended is said of a stop as well, so the stop counts more; a launcher says it of every failure, so
    that even an error which only passes another on says more.
    """
    if event.role == "consequence" and event.cause == "peer-ended":
        return 3 if event.weight > _LAUNCHER else 4
    if event.role == "wrapper" and event.cause:
        return 3
    return _ROLES[event.role]


def _before(one: Place, other: Place) -> bool:
    return one.file == other.file and one.line < other.line


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


def _only_repeats(exception: str) -> bool:
    return exception.startswith(("torch.distributed.elastic", "subprocess.CalledProcessError", "KeyboardInterrupt"))


def _named(event: Event, rank: Rank) -> Event:
    return msgspec.structs.replace(event, rank=rank.name())


def _stories(ranks: list[Rank], first: Rank, event: Event) -> tuple[RankStory, ...]:
    if len(ranks) < 2:
        return ()
    stories = []
    for rank in ranks:
        key = _loudest(rank)
        if key is None and not rank.name() and not rank.exceptions:
            continue  # lines of the launcher
        one = rank.events[key] if key is not None else None
        if rank is first:
            said = "first cause" if event.role == "cause" else "consequence"
        elif one is None:
            said = "other error" if rank.exceptions else "no error"
        elif one.cause == event.cause:
            said = "same cause" if one.role == "cause" else "consequence"
        elif one.role == "consequence" or (one.role in ("wrapper", "hint") and event.role == "cause"):
            said = "consequence"
        else:
            said = "other error"
        stories.append(RankStory(rank=rank.name(), first=_named(one, rank) if one is not None else None, said=said))
    return tuple(sorted(stories, key=lambda story: (story.said != "first cause", _order(story.rank))))


def _order(name: str) -> tuple[int, str]:
    return (int(name), "") if name.isdigit() else (1 << 30, name)


def _misses_file(rank: Rank) -> bool:
    return any(event.cause == "missing-file" for event in rank.events.values())


def _called(name: str) -> str:
    return f"rank {name}" if name.isdigit() else name


def _notes(
    collector: Collector,
    ranks: list[Rank],
    rank: Rank,
    event: Event,
    waited: list[str],
    silent: tuple[str, ...],
    given: set[str],
) -> tuple[str, ...]:
    notes = []
    others = [one.name() for one in ranks if one.name() and one.name() != rank.name()]
    if event.cause == "missing-file" and others and not any(_misses_file(one) for one in ranks if one is not rank):
        notes.append(
            phrase(
                "Only {called} misses it: look at the node that it ran on; the others found theirs.",
                called=_called(rank.name()),
            )
        )
    if event.role == "consequence":
        missing = [one for one in waited if one not in given]
        if silent:
            notes.append(
                phrase(
                    "Rank {silent} was waited for and shows no error: it hangs or was killed. Look there.",
                    silent=commas(silent),
                )
            )
        elif missing and given:
            notes.append(
                phrase(
                    "Rank {missing} was waited for, but its log is not included: look there.", missing=commas(missing)
                )
            )
        elif not given or len(given) == 1:
            notes.append(
                phrase("This is one rank's view; the cause is usually on another rank. Pass the logs of all ranks.")
            )
        if collector.first_failed:
            notes.append(
                phrase(
                    "The launcher reports that rank {first_failed} failed first.", first_failed=collector.first_failed
                )
            )
    return tuple(notes)


def _without_event(collector: Collector, ranks: list[Rank]) -> Diagnosis:
    failed = next((rank for rank in ranks if rank.number == collector.first_failed and rank.exceptions), None)
    with_exception = failed or next((rank for rank in ranks if rank.exceptions), None)
    if with_exception is not None:
        return _script_error(collector, ranks, with_exception)
    noise = any(one.events for one in ranks)
    if noise and not any(rank.suspects for rank in ranks):
        return _nothing(collector, ranks, "")
    suspects = tuple(place for rank in ranks for place in rank.suspects[:6])[:12]
    return _empty(
        collector,
        Confidence.UNKNOWN if suspects else Confidence.NOTHING,
        phrase("npuify recognizes nothing in these logs") if suspects else phrase("No failure found"),
        excerpt=suspects,
        collect=COLLECT,
    )


def _nothing(collector: Collector, ranks: list[Rank], cause: str) -> Diagnosis:
    """Warnings, and what is printed at the end of good runs, are no failure."""
    said: dict[str, Event] = {}
    for rank in ranks:
        for event in rank.events.values():
            if event.role == "hint":
                event = msgspec.structs.replace(event, why=event.why or f"a warning: {causes()[event.cause].title}")
            said.setdefault(event.name, _named(event, rank))
    base = _empty(collector, Confidence.NOTHING, phrase("No failure found"))
    return msgspec.structs.replace(base, cause=cause, noise=tuple(said.values()))


def _title(fact: Cause, exception: str, frame: Frame | None) -> str:
    """The cause's, and for the program's own errors the kind and place as well."""
    if fact.id != "script-error":
        return fact.title
    kind = exception.partition(":")[0].rpartition(".")[2] if exception else ""
    where = f" at {frame.file}:{frame.line}" if frame is not None else ""
    return f"{kind}{where}: {fact.title[0].lower()}{fact.title[1:]}" if kind else fact.title


def _script_error(collector: Collector, ranks: list[Rank], rank: Rank, event: Event | None = None) -> Diagnosis:
    """An exception of which nothing more is known: the program's own, as far as anybody can tell."""
    owner, (place, text, frame, _, inside) = _first_exception(ranks, rank, event)
    fact = causes()["script-error"]
    base = _empty(
        collector,
        Confidence.UNKNOWN,
        _title(fact, text, frame),
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
        if not _only_repeats(one.text)
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
        lines=collector.lines,
        bytes=collector.bytes,
    )
