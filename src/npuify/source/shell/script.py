"""What a shell script holds: words whose every character knows its bytes, variables, commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

UNKNOWN = "\0"
"""Stands in the value of a word for what only the running shell knows."""


class Word(NamedTuple):
    """A word, or a part of one.

    ``value`` is the text that the shell makes of it, with :data:`UNKNOWN` for each expansion; ``starts`` and ``ends``
    are the offsets of the bytes that stand for each of its characters.
    """

    value: str
    starts: Sequence[int]
    ends: Sequence[int]
    start: int
    end: int
    """Offsets of the whole word, quotes included."""
    variables: tuple[str, ...] = ()
    """Names of the variables that it expands."""
    is_quoted: bool = False

    @property
    def is_literal(self) -> bool:
        return UNKNOWN not in self.value

    def span(self, first: int, last: int) -> tuple[int, int] | None:
        """The bytes of ``value[first:last]``, or None where quotes or escapes stand between them."""
        if first >= last:
            return None
        for at in range(first, last - 1):
            if self.ends[at] != self.starts[at + 1]:
                return None
        return self.starts[first], self.ends[last - 1]

    def part(self, first: int, last: int) -> Word:
        """The word ``value[first:last]`` inside this one."""
        start = self.starts[first] if first < len(self.starts) else self.end
        end = self.ends[last - 1] if first < last else start
        return Word(
            self.value[first:last], self.starts[first:last], self.ends[first:last], start, end, self.variables, True
        )

    def split(self) -> list[Word]:
        """The words inside a string that holds several, without quotes of their own."""
        found, first = [], -1
        for at, character in enumerate(self.value + " "):
            if character.isspace() or character in "\"'":
                if first >= 0:
                    found.append(self.part(first, at))
                first = -1
            elif first < 0:
                first = at
        return found


class Assignment(NamedTuple):
    """``NAME=value``. ``value`` is None where nothing, or no word, follows."""

    name: str
    start: int
    end: int
    """Offsets of the name."""
    value: Word | None
    statement: tuple[int, int]
    """Offsets of what goes when the assignment goes: the statement, where it has no other, else the assignment."""
    alone: bool
    """It is a statement of its own, or the only one of an ``export``."""
    is_empty: bool = False
    """Nothing follows: the variable is set, and holds nothing."""


class Use(NamedTuple):
    """A place that reads, exports or unsets a variable. ``default`` is the word of ``${NAME:-word}``."""

    name: str
    start: int
    end: int
    default: Word | None = None


class Command(NamedTuple):
    """A simple command. ``words`` begin with its name."""

    words: tuple[Word, ...]
    start: int
    end: int
    is_redirected: bool
    pipe: tuple[tuple[str, ...], ...] = ()
    """The values of the words of the next two commands that its output is piped into."""
    pipe_end: int = 0
    """Where the pipeline ends."""

    @property
    def name(self) -> str:
        """The program without its folder."""
        return self.words[0].value.rpartition("/")[2] if self.words else ""


class Comparison(NamedTuple):
    """Two words of a test, or the word of a ``case`` and one of its patterns."""

    left: Word
    right: Word


class Heredoc(NamedTuple):
    """A document in the script: the command that reads it, where it is written to, and its text."""

    command: tuple[str, ...]
    target: str
    start: int
    end: int
    is_literal: bool


class Script(NamedTuple):
    """What a script holds, in the order of its text."""

    commands: list[Command]
    assignments: list[Assignment]
    uses: list[Use]
    arrays: list[list[Word]]
    comparisons: list[Comparison]
    comments: list[tuple[int, int]]
    heredocs: list[Heredoc]
    loops: list[tuple[str, Word]]
    """The variable of each ``for`` with each word that it takes."""
    is_broken: bool = False
    """Something in it is no shell, and it cannot be told how far the harm reaches."""
