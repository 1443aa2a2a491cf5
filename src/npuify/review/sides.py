"""A file before and after, line beside line."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from npuify.language import phrase
from npuify.rewrite.diff import side_by_side
from npuify.source.text import Text, UnreadableText
from npuify.visible import visible

_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$")
_LARGEST: Final = 4_000_000
"""Bytes of a file that is shown: a longer one is data."""
_WIDEST: Final = 2000
"""Characters of a line that are shown: minified code has lines of a megabyte."""


class Row(NamedTuple):
    """One row: the numbers of the lines, 0 where a side has none, and their text. Equal lines are told once."""

    old: int
    new: int
    before: str
    after: str | None
    """None where it is the same."""


def rows(before: bytes, after: bytes) -> tuple[list[Row], str]:
    """The rows of a file, or none and the reason why it cannot be shown."""
    if len(before) > _LARGEST or len(after) > _LARGEST:
        return [], "the file is too long to be shown"
    try:
        old, new = (_LINE.findall(Text(raw).string) for raw in (before, after))
    except UnreadableText as error:
        return [], phrase("the file cannot be shown: {error}", error=error)
    made = []
    for here, there in side_by_side(old, new):
        left, right = old[here - 1] if here else "", new[there - 1] if there else ""
        same = bool(here and there and left == right)
        made.append(Row(here, there, _shown(left), None if same else _shown(right)))
    return made, ""


def _shown(line: str) -> str:
    body = line.rstrip("\r\n")
    return visible(body if len(body) <= _WIDEST else body[:_WIDEST] + "…")


def as_saved(text: str, original: bytes) -> bytes:
    """The bytes of what a person typed into a page, with the line ends and the encoding of the original.

    Raises:
        UnreadableText: the original is no text, or its encoding has not what was typed.
    """
    known = Text(original)
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    ends = "\r\n" if "\r\n" in known.string else "\n"
    return known.encode(plain.replace("\n", ends).encode("utf-8", "surrogatepass"))
