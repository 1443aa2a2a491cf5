"""What one rank, or one process, has said so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

if TYPE_CHECKING:
    from npuify.diagnosis.model import Event, Frame, Place


Raised: TypeAlias = "tuple[Place, str, Frame | None, float]"
"""Where an exception ended a traceback, its text, the last frame in the user's own code, and the time in seconds."""


class Rank:
    """What one rank, or one process, has said so far."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.number = ""
        self.pids: set[str] = set()
        self.events: dict[tuple[str, str], Event] = {}
        self.order: dict[tuple[str, str], float] = {}
        self.open_frames: list[Frame] = []
        self.tracebacks = 0
        self.ignored = -60
        """The line that says that the exception after it is ignored."""
        self.exceptions: list[Raised] = []
        """The first two and the last of the exceptions that ended a traceback."""
        self.suspects: list[Place] = []
        """Lines with errors that nothing is known of."""
        self.operator = ""
        self.waits_for: set[str] = set()
        self.lines = 0

    def name(self) -> str:
        """How the rank is called in a report."""
        return self.number or self.key


def merge(owner: Rank, part: Rank) -> None:
    """Add to a rank what a process said that turned out to be it."""
    for key, event in part.events.items():
        older = key in owner.order and owner.order[key] <= part.order[key]
        if not older:
            owner.events[key] = event
            owner.order[key] = part.order[key]
    owner.suspects += part.suspects
    owner.waits_for |= part.waits_for
    owner.operator = owner.operator or part.operator


_AT_EXIT: Final = {"EOFError", "BrokenPipeError", "ConnectionResetError", "ConnectionRefusedError", "KeyboardInterrupt"}


def at_exit(kind: str, frames: list[Frame]) -> bool:
    """Whether an exception is that of a compile process of CANN whose main process has gone."""
    return kind in _AT_EXIT and any("/te_fusion/" in one.file or "/tbe/" in one.file for one in frames)


def counted(event: Event, more: int = 1) -> Event:
    """The event, seen so many more times."""
    return msgspec.structs.replace(event, count=event.count + more)
