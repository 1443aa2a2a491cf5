"""Which event of which rank a diagnosis rests on.

A rank that waited for another says so loudly, and often first; it is not the cause. So what counts is, in this order:
does the text name a cause or a consequence, how surely, and, among ranks that name causes, which was first in time.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from .model import Event, Place
    from .ranks import Rank

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

_BY_COMMUNICATION: Final = {
    *("507000", "507001", "507011", "507012", "507013", "507017", "507018", "507046", "507047", "507048", "507049"),
    *("507056", "507057", "507899", "507900", "507901"),
}
"""Codes with which a stream ends whatever its task was: where HCCL says what failed, it was one of a collective."""
_BLOCK: Final = 40
"""Lines within which HCCL's own code belongs to the runtime's."""

_ENDED_BY_LAUNCHER: Final = re.compile(r"exitcode\s*: -(?:9|15)\b|Signal (?:9|15) \(SIG\w+\) received")


def yield_to_first(rank: Rank) -> None:
    """Make consequences of what torchrun's table says of ranks that it ended after the first had failed by itself."""
    for key, event in rank.events.items():
        if event.cause in ("killed", "interrupted") and _ENDED_BY_LAUNCHER.search(event.place.text):
            rank.events[key] = msgspec.structs.replace(
                event, role="consequence", cause="peer-ended", weight=_LAUNCHER, why="", fix=""
            )


def best(ranks: list[Rank], first_failed: str) -> tuple[Rank, tuple[str, str]] | None:
    """The rank and event that the diagnosis rests on."""
    candidates = []
    for order, rank in enumerate(ranks):
        key = loudest(rank)
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


def loudest(rank: Rank) -> tuple[str, str] | None:
    """The event of a rank that says most: a cause rather than a consequence, the surest, and of those the first."""
    said = [key for key, event in rank.events.items() if event.role != "noise"]
    if not said:
        return None
    waited = [
        event.place
        for event in rank.events.values()
        if event.role == "consequence" and event.weight >= _LOUD and event.cause != "peer-ended"
    ]

    of_hccl = [
        event.place for event in rank.events.values() if event.role == "consequence" and event.name.startswith("EI")
    ]

    def value(key: tuple[str, str]) -> tuple[int, int, float, int, int]:
        event = rank.events[key]
        when = rank.order[key]
        role = _role(event)
        if event.role == "hint" and event.weight >= _SAYS_MUCH:
            role = 1
        if event.name in _BY_COMMUNICATION and any(_near(place, event.place) for place in of_hccl):
            role = 2
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


def _near(one: Place, other: Place) -> bool:
    return one.file == other.file and abs(one.line - other.line) <= _BLOCK


def _before(one: Place, other: Place) -> bool:
    return one.file == other.file and one.line < other.line
