"""What the doctor says: one result for each thing that is not as it should be, and a report of all of them."""

from __future__ import annotations

from enum import Enum
from typing import Final

import msgspec

from npuify.language import ENGLISH
from npuify.model import Evidence

VERSION: Final = 1
"""Version of the JSON: raised when something is removed or changes its meaning, not when something is added."""


class Status(str, Enum):
    """How a result bears on running a program here, from the best to the worst."""

    OK = "ok"
    """The check found nothing."""
    SKIPPED = "skipped"
    """It could not be made, or makes no sense after an error of another check; the message says why."""
    INFO = "info"
    """Worth knowing; nothing breaks."""
    WARNING = "warning"
    """Programs run, but may run wrong, slowly, or fail later."""
    ERROR = "error"
    """Programs will not run."""


ORDER: Final = {status: rank for rank, status in enumerate(Status)}


class Mend(msgspec.Struct, frozen=True):
    """Commands that mend a result. They are shown and written into a script, never run."""

    commands: tuple[str, ...]
    """One shell line each. A line that begins with ``#`` is something a person has to do."""
    root: bool = False
    """Whether an administrator has to run them."""
    place: str = "machine"
    """``machine``; ``host`` for what has to be done outside the container; ``shell`` for the running shell."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What one check found."""

    check: str
    """The check's stable name, such as ``driver.firmware``."""
    status: Status
    message: str
    advice: str = ""
    mend: Mend | None = None
    evidence: Evidence = Evidence.DOCUMENTED
    """How the fact is known by which this was judged; what was seen on the machine is in the message."""
    source: str = ""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A check that was made, or was not, and the worst that it found."""

    name: str
    title: str
    status: Status


class CardLine(msgspec.Struct, frozen=True, kw_only=True):
    """One chip, as the report's head shows it."""

    npu: int
    chip: int
    name: str
    product: str
    health: str
    memory_mib: int
    """Of high bandwidth memory, or of DDR where the chip has none; 0 where it is not known."""
    used_mib: int


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """The machine in a few words. Empty: not known."""

    system: str = ""
    architecture: str = ""
    container: str = ""
    cards: tuple[CardLine, ...] = ()
    driver: str = ""
    firmware: str = ""
    cann: str = ""
    python: str = ""
    torch: str = ""
    torch_npu: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the doctor found. ``results`` are ordered from the worst to the best, then by check."""

    version: int = VERSION
    tool: str
    """npuify's own version."""
    language: str = ENGLISH
    """Of all text for people: ``en`` or ``zh``."""
    source: str
    """``this machine``, or the capture that was judged."""
    project: str = ""
    machine: Machine
    worst: Status
    checks: tuple[Check, ...]
    results: tuple[Result, ...]


def worst_of(results: tuple[Result, ...]) -> Status:
    """The worst status; ``skipped`` counts as ``ok``, since nothing is known to be wrong."""
    found = max((result.status for result in results), key=ORDER.__getitem__, default=Status.OK)
    return Status.OK if found is Status.SKIPPED else found
