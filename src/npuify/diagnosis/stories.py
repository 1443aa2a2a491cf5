"""What each rank says beside the first cause, and what follows for whoever looks further."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from npuify.language import commas, phrase

from .choose import loudest
from .model import RankStory

if TYPE_CHECKING:
    from .collect import Collector
    from .model import Event
    from .ranks import Rank


def named(event: Event, rank: Rank) -> Event:
    return msgspec.structs.replace(event, rank=rank.name())


def stories_of(ranks: list[Rank], first: Rank, event: Event) -> tuple[RankStory, ...]:
    if len(ranks) < 2:
        return ()
    stories = []
    for rank in ranks:
        key = loudest(rank)
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
        stories.append(RankStory(rank=rank.name(), first=named(one, rank) if one is not None else None, said=said))
    return tuple(sorted(stories, key=lambda story: (story.said != "first cause", _order(story.rank))))


def _order(name: str) -> tuple[int, str]:
    return (int(name), "") if name.isdigit() else (1 << 30, name)


def _misses_file(rank: Rank) -> bool:
    return any(event.cause == "missing-file" for event in rank.events.values())


def _called(name: str) -> str:
    return f"rank {name}" if name.isdigit() else name


def notes_of(
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
        elif waited and not given:
            notes.append(
                phrase(
                    "Rank {waited} was waited for: look at what it did at that time, or why it never started.",
                    waited=commas(waited),
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
        if collector.first_failed.rank:
            notes.append(
                phrase(
                    "The launcher reports that rank {first_failed} failed first.",
                    first_failed=collector.first_failed.rank,
                )
            )
    return tuple(notes)
