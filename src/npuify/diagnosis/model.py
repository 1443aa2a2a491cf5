"""What a diagnosis says."""

from __future__ import annotations

from enum import Enum
from typing import Final

import msgspec

from npuify.language import ENGLISH
from npuify.model import Evidence  # noqa: TC001 - the type of fields

VERSION: Final = 1
"""Version of the JSON: raised when something is removed or changes its meaning, not when something is added."""


class Confidence(str, Enum):
    """How sure the diagnosis is."""

    CLEAR = "clear"
    """The log names the cause."""
    LIKELY = "likely"
    """It is the usual cause of what the log says."""
    OPEN = "open"
    """Several causes fit; the question tells them apart."""
    UNKNOWN = "unknown"
    """Nothing that is known; see the excerpt."""
    NOTHING = "nothing"
    """The logs contain no failure; ``cause`` is then what warnings point at, if anything."""


class Place(msgspec.Struct, frozen=True):
    """A line of a log."""

    file: str
    line: int
    """From 1."""
    text: str
    """The line, shortened, without the launcher's prefix."""


class Frame(msgspec.Struct, frozen=True):
    """A place in Python code, as a traceback names it."""

    file: str
    line: int
    function: str


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something in a log that is known."""

    rank: str
    """The rank's number, or the name by which the log tells it apart; empty where there is one only."""
    time: str
    """As the log writes it; empty where it does not."""
    place: Place
    name: str
    """A code, or the name of a row of failures.toml."""
    meaning: str
    cause: str
    role: str
    weight: int
    """How surely it names its cause, from 0 to 100."""
    evidence: Evidence
    source: str
    count: int = 1
    """How often this rank said it."""
    why: str = ""
    """In place of what is said of the cause; empty: that."""
    fix: str = ""


class RankStory(msgspec.Struct, frozen=True, kw_only=True):
    """What one rank says, in one line."""

    rank: str
    first: Event | None
    said: str
    """``first cause``, ``same cause``, ``consequence``, ``other error`` or ``no error``."""


class LinkedFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A place of the project that a scan complains about, and that belongs to this failure."""

    code: str
    file: str
    line: int
    message: str


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer."""

    version: int = VERSION
    tool: str
    language: str = ENGLISH
    """Of all text for people: ``en`` or ``zh``."""
    confidence: Confidence
    cause: str
    """An id that does not change; empty where none is known."""
    title: str
    why: str
    fix: str
    commands: tuple[str, ...]
    evidence: Evidence
    source: str
    first: Event | None
    """The event that the diagnosis rests on."""
    also: tuple[Event, ...]
    """Other events of the same rank that say the same more vaguely."""
    exception: str
    """The last line of the Python traceback."""
    frame: Frame | None
    """The last frame in the user's own code."""
    operator: str
    """The operator that the log names."""
    late_stack: bool
    """The Python stack is where the program waited, not where the operator was called."""
    question: str
    answers: tuple[tuple[str, str], ...]
    ranks: tuple[RankStory, ...]
    waited_for: tuple[str, ...]
    """Ranks that others waited for in vain."""
    silent: tuple[str, ...]
    """Of those, the ranks whose logs were given and hold no error of their own."""
    findings: tuple[LinkedFinding, ...]
    excerpt: tuple[Place, ...]
    """For what is not known: the fewest lines that say most."""
    collect: tuple[str, ...]
    """What to collect before asking somebody."""
    notes: tuple[str, ...]
    noise: tuple[Event, ...] = ()
    """Where no failure was found: what looks like one, with ``why`` it is none."""
    files: int
    lines: int
    bytes: int
