"""Where the strings of a TOML document stand. The document must be valid TOML already."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*")
_BLANK_IN_LINE = re.compile(r"[ \t]*")
_STRING = re.compile(r'"""(?:[^\\]|\\.)*?"""{1,3}|\'\'\'.*?\'\'\'{1,3}|"(?:[^"\\\r\n]|\\.)*"|\'[^\'\r\n]*\'', re.DOTALL)
_BARE = re.compile(r"[^\s,\]}#=]+(?:[ ][\d:.]+)?")
_KEY_PART = re.compile(r"[A-Za-z0-9_-]+")


class String(NamedTuple):
    """A string value. ``path`` are the keys that lead to it; the members of arrays have ``#`` as key."""

    path: tuple[str, ...]
    start: int
    end: int
    """Offsets with the quotes."""
    key_start: int
    key_end: int
    """Offsets of the outermost key of the statement that holds it, as it is written."""
    statement_end: int


def strings(text: str) -> Iterator[String]:
    """Every string value of the document ``text``, in the order in which they stand."""
    table: tuple[str, ...] = ()
    at = 0
    while True:
        at = _end(_BLANK, text, at)
        if at >= len(text):
            return
        if text[at] == "[":
            double = text.startswith("[[", at)
            keys, at = _keys(text, at + (2 if double else 1))
            at = text.index("]", at) + (2 if double else 1)
            table = (*keys, "#") if double else keys
            continue
        key_start = at
        keys, at = _keys(text, at)
        key_end = key_start + len(text[key_start:at].rstrip())
        found: list[String] = []
        at = _value(text, _end(_BLANK_IN_LINE, text, at + 1), (*table, *keys), found)
        for string in found:
            yield string._replace(key_start=key_start, key_end=key_end, statement_end=at)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _keys(text: str, at: int) -> tuple[tuple[str, ...], int]:
    """The parts of a key, and the offset behind it."""
    parts: list[str] = []
    while True:
        at = _end(_BLANK_IN_LINE, text, at)
        quoted = _STRING.match(text, at)
        plain = quoted or _KEY_PART.match(text, at)
        if plain is None:
            raise ValueError(f"no key at offset {at}")
        parts.append(plain.group()[1:-1] if quoted else plain.group())
        at = _end(_BLANK_IN_LINE, text, plain.end())
        if text[at : at + 1] != ".":
            return tuple(parts), at
        at += 1


def _value(text: str, at: int, path: tuple[str, ...], found: list[String]) -> int:
    """Note the strings of the value at ``at``, and return the offset behind it."""
    string = _STRING.match(text, at)
    if string is not None:
        found.append(String(path, *string.span(), 0, 0, 0))
        return string.end()
    if text[at] == "[":
        at = _end(_BLANK, text, at + 1)
        while text[at] != "]":
            at = _end(_BLANK, text, _value(text, at, (*path, "#"), found))
            if text[at] == ",":
                at = _end(_BLANK, text, at + 1)
        return at + 1
    if text[at] == "{":
        at = _end(_BLANK, text, at + 1)
        while text[at] != "}":
            keys, at = _keys(text, at)
            at = _value(text, _end(_BLANK, text, at + 1), (*path, *keys), found)
            at = _end(_BLANK, text, at)
            if text[at] == ",":
                at = _end(_BLANK, text, at + 1)
        return at + 1
    bare = _BARE.match(text, at)
    if bare is None:
        raise ValueError(f"no value at offset {at}")
    return bare.end()
