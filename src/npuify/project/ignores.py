"""The rules of ``.gitignore`` files and of ``--exclude``, made cheap enough to ask for every file of a large tree.

They are asked for one entry of a folder at a time, from the top down, and what lies in an ignored folder is never asked
for; so a pattern has to match the entry itself, as git does it. Before any pattern is tried, a set of names, a tuple of
endings and one regular expression tell whether one can match at all, which is "no" for nearly every file.

Source: the manual page gitignore(5) and, where it leaves room, what git does (a test compares the two).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

_SPECIAL = frozenset("*?[\\")


class IgnoreRules:
    """The patterns of one file (or of ``--exclude``), which hold for paths below one folder."""

    __slots__ = ("_endings", "_lines", "_names", "_patterns", "_shapes", "skip")

    def __init__(self, lines: Iterable[str], *, skip: int = 0) -> None:
        """``skip``: how many characters the caller drops from its paths to make them relative to the folder."""
        self.skip = skip
        self._lines: list[_Line] = []
        self._patterns: list[_Pattern] | None = None
        names: set[str] = set()
        endings: set[str] = set()
        shapes: list[str] = []
        for text in lines:
            line = _parse(text)
            if line is None:
                continue
            self._lines.append(line)
            before, _, last = line.pattern.rpartition("/")
            if "[" in before:
                shapes.append(".*")  # the slash may stand within the brackets
            elif not _SPECIAL.intersection(last):
                names.add(last)
            elif last[0] == "*" and not _SPECIAL.intersection(last[1:]):
                endings.add(last[1:])
            else:
                shapes.append(translate(last) or "(?!)")
        self._names = frozenset(names)
        self._endings = tuple(sorted(endings))
        self._shapes = re.compile("|".join(f"(?:{shape})" for shape in shapes)) if shapes else None

    def __bool__(self) -> bool:
        return bool(self._lines)

    def ignores(self, path: str, name: str) -> bool | None:
        """True when the entry is ignored, False when a ``!`` pattern keeps it, None when no pattern speaks of it.

        Args:
            path: relative to the folder of the patterns, with forward slashes; a folder's ends in one.
            name: its last component, without a slash.
        """
        if not (
            name in self._names
            or name.endswith(self._endings)
            or (self._shapes is not None and self._shapes.fullmatch(name))
        ):
            return None
        if self._patterns is None:
            self._patterns = [pattern for line in reversed(self._lines) if (pattern := _compiled(line)) is not None]
        is_folder = path.endswith("/")
        bare = path[:-1] if is_folder else path
        for pattern in self._patterns:
            if (is_folder or not pattern.folders_only) and pattern.regex.fullmatch(bare if pattern.anchored else name):
                return not pattern.keeps
        return None


def escape(path: str) -> str:
    """A path as a pattern that matches it alone."""
    written = re.sub(r"([*?\[\\])", r"\\\1", path)
    bare = written.rstrip(" ")
    return bare + "\\ " * (len(written) - len(bare))


class _Line(NamedTuple):
    pattern: str
    """Without ``!`` and without slashes at either end."""
    keeps: bool
    folders_only: bool
    anchored: bool
    """Whether it is about the path from the folder of the patterns, not about a name anywhere below."""


class _Pattern(NamedTuple):
    regex: re.Pattern[str]
    keeps: bool
    folders_only: bool
    anchored: bool


def _parse(text: str) -> _Line | None:
    """One line of a .gitignore file; None where it holds no pattern."""
    text = text.rstrip("\r\n")
    if text.startswith("#"):
        return None
    stripped = text.rstrip(" ")
    blanks_escaped = (len(stripped) - len(stripped.rstrip("\\"))) % 2 and len(stripped) < len(text)
    text = stripped + " " if blanks_escaped else stripped
    keeps = text.startswith("!")
    text = text[keeps:]
    folders_only = text.endswith("/")
    text = text[: len(text) - folders_only]
    anchored = "/" in text
    text = text[text.startswith("/") :]
    return _Line(text, keeps, folders_only, anchored) if text else None


def _compiled(line: _Line) -> _Pattern | None:
    regex = translate(line.pattern) if line.anchored else translate(line.pattern.replace("**", "*"))
    if regex is None:
        return None
    return _Pattern(re.compile(regex, re.DOTALL), line.keeps, line.folders_only, line.anchored)


def translate(pattern: str) -> str | None:
    """The regular expression for a pattern of gitignore(5) that is matched against a whole path.

    None for one that matches nothing, because a bracket is left open or a backslash ends it.
    """
    parts: list[str] = []
    place, end = 0, len(pattern)
    while place < end:
        character = pattern[place]
        place += 1
        if character == "*":
            stars = place - 1
            while place < end and pattern[place] == "*":
                place += 1
            alone = (stars == 0 or pattern[stars - 1] == "/") and (place == end or pattern[place] == "/")
            if place - stars != 2 or not alone:
                parts.append("[^/]*")
            elif place == end:
                parts.append(".*" if stars == 0 else ".+")
            else:
                parts.append("(?:.*/)?")
                place += 1
        elif character == "?":
            parts.append("[^/]")
        elif character == "[":
            bracket = _bracket(pattern, place)
            if bracket is None:
                return None
            text, place = bracket
            parts.append(text)
        elif character == "\\":
            if place == end:
                return None
            parts.append(re.escape(pattern[place]))
            place += 1
        else:
            parts.append(re.escape(character))
    return "".join(parts)


_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


def _bracket(pattern: str, place: int) -> tuple[str, int] | None:
    """The character class whose ``[`` stands before ``place``, and where it ends; None where it is left open."""
    end = len(pattern)
    inverted = place < end and pattern[place] in "!^"
    place += inverted
    pieces: list[str] = []
    first = True
    while place < end and (first or pattern[place] != "]"):
        first = False
        if pattern.startswith("[:", place):
            close = pattern.find(":]", place + 2)
            if close > 0 and pattern[place + 2 : close] in _CLASSES:
                pieces.append(_CLASSES[pattern[place + 2 : close]])
                place = close + 2
                continue
        low, place = _literal(pattern, place)
        if place + 1 < end and pattern[place] == "-" and pattern[place + 1] != "]":
            high, place = _literal(pattern, place + 1)
            if low <= high:
                pieces.append(f"{re.escape(low)}-{re.escape(high)}")
        else:
            pieces.append(re.escape(low))
    if place >= end:
        return None
    inside = "".join(pieces)
    if inverted:
        return (f"[^/{inside}]", place + 1)
    return (f"(?!/)[{inside}]" if inside else "(?!)", place + 1)


def _literal(pattern: str, place: int) -> tuple[str, int]:
    if pattern[place] == "\\" and place + 1 < len(pattern):
        place += 1
    return pattern[place], place + 1
