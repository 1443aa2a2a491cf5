"""What one rank, or one process, has said so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from npuify.diagnosis.lines import YEAR, without_year
from npuify.diagnosis.stems import GOES_ON
from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from npuify.diagnosis.model import Event, Frame, Place


class Raised(NamedTuple):
    """An exception that ended a traceback."""

    place: Place
    text: str
    frame: Frame | None
    """The last frame in the user's own code."""
    when: float
    """The time in seconds; -1.0 where the log has none."""
    inside: str
    """The installed package that raised it; empty where the user's own code did, or there are no frames."""


class Rank:
    """What one rank, or one process, has said so far."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.number = ""
        self.pids: set[str] = set()
        self.events: dict[tuple[str, str], Event] = {}
        self.order: dict[tuple[str, str], float] = {}
        self.processes: dict[tuple[str, str], bytes] = {}
        """What the launcher wrote before the line of each event."""
        self.survived = False
        """Whether the training went on after one of the events."""
        self.open_frames: list[Frame] = []
        self.last_frame = 0
        """The line of the last of them."""
        self.tracebacks = 0
        self.ignored = -60
        """The line that says that the exception after it is ignored."""
        self.exceptions: list[Raised] = []
        """The first two and the last of the exceptions that ended a traceback."""
        self.suspects: list[Place] = []
        """Lines with errors that nothing is known of."""
        self.builds = ""
        """The package that an installer was building last."""
        self.extension = ""
        """The extension that torch compiled last."""
        self.operator = ""
        self.waits_for: set[str] = set()
        self.lines = 0

    def name(self) -> str:
        """How the rank is called in a report."""
        return self.number or self.key

    def _fails_after(self, file: str, line: int) -> bool:
        return any(
            event.place.file == file and event.place.line > line and event.role in ("cause", "consequence", "stop")
            for event in self.events.values()
        )

    def survive(
        self, went_on: Mapping[tuple[str, bytes], list[int]], finished: Mapping[tuple[str, bytes], list[int]]
    ) -> None:
        """Make hints of what the same process said before its training went on.

        Args:
            went_on: the numbers of the last lines that told of a step, by file and process.
            finished: the same before the training came to its end; processes of which nothing tells that are left out.
        """
        ended_well: dict[str, int] = {}
        for key, event in self.events.items():
            if event.count == 1 and event.name in _ONCE_IS_NORMAL:
                why = _once_is_normal(event.name)
                self.events[key] = msgspec.structs.replace(event, weight=min(event.weight, 29), why=why)
            owner = (event.place.file, self.processes.get(key, b""))
            steps = went_on.get(owner, [])
            last = finished.get(owner, [])
            well = len(last) == GOES_ON and last[0] > event.place.line
            if (
                event.role in ("cause", "consequence", "wrapper")
                and event.cause not in _GOES_ON_WITH
                and len(steps) == GOES_ON
                and steps[0] > event.place.line
                and (_is_optional(event) or well or self._fails_after(event.place.file, steps[0]))
            ):
                self.survived = True
                if well:
                    ended_well[event.place.file] = last[0]
                why = phrase("the training went on after it")
                self.events[key] = msgspec.structs.replace(event, role="hint", weight=min(event.weight, 29), why=why)
        if self.survived:
            left = {event.place for event in self.events.values() if event.role == "hint"}
            self.exceptions = [one for one in self.exceptions if not any(_said_with(one.place, at) for at in left)]
            self.suspects = [
                one for one in self.suspects if one not in left and one.line >= ended_well.get(one.file, 0)
            ]


_BELOW_SOURCE: Final = 8
"""Lines below the source that raises an exception within which the exception itself stands."""


def _said_with(exception: Place, event: Place) -> bool:
    """Whether an event is of an exception's own line, or of the source that raises it."""
    return exception.file == event.file and event.line <= exception.line <= event.line + _BELOW_SOURCE


def merge(owner: Rank, part: Rank) -> None:
    """Add to a rank what a process said that turned out to be it."""
    for key, event in part.events.items():
        older = key in owner.order and owner.order[key] <= part.order[key]
        if not older:
            owner.events[key] = event
            owner.order[key] = part.order[key]
            owner.processes[key] = part.processes.get(key, b"")
    owner.suspects += part.suspects
    owner.waits_for |= part.waits_for
    owner.operator = owner.operator or part.operator


def in_one_calendar(ranks: Iterable[Rank]) -> None:
    """Leave the years out of all times where some lines write theirs and others, as glog's, do not."""
    ranks = list(ranks)
    times = [when for rank in ranks for when in (*rank.order.values(), *(one.when for one in rank.exceptions))]
    known = [when for when in times if when >= 0]
    if not known or min(known) >= YEAR or max(known) < YEAR:
        return
    for rank in ranks:
        rank.order = {key: without_year(when) for key, when in rank.order.items()}
        rank.exceptions = [one._replace(when=without_year(one.when)) for one in rank.exceptions]


_OPTIONAL: Final = {
    "cuda-only-package",
    "missing-package",
    "package-without-npu",
    "triton-conflict",
    "version-mismatch",
    "library-path",
    "no-network",
    "hub-access",
    "missing-file",
}
"""What programs get over: they import something else, or take what they have."""


def _is_optional(event: Event) -> bool:
    return event.cause in _OPTIONAL or event.place.text.startswith(("ImportError", "ModuleNotFoundError"))


_ONCE_IS_NORMAL: Final = {"nan-gradient", "ray-waits-for-cards"}
"""Rows of what good runs say once, and failing ones again and again."""


def _once_is_normal(name: str) -> str:
    """Why the row ``name`` is no failure where it is said once."""
    if name == "nan-gradient":
        return phrase("the gradient scaler skips such a step and lowers its scale; the loss is a number")
    return phrase("Ray waits a moment for its workers when it starts")


_GOES_ON_WITH: Final = {"overflow"}
"""Causes that show themselves in a training that goes on."""
_AT_EXIT: Final = {"EOFError", "BrokenPipeError", "ConnectionResetError", "ConnectionRefusedError", "KeyboardInterrupt"}


def at_exit(kind: str, frames: list[Frame]) -> bool:
    """Whether an exception is that of a compile process of CANN whose main process has gone."""
    return kind in _AT_EXIT and any("/te_fusion/" in one.file or "/tbe/" in one.file for one in frames)


def counted(event: Event, more: int = 1) -> Event:
    """The event, seen so many more times."""
    return msgspec.structs.replace(event, count=event.count + more)
