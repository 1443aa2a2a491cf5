"""Text of a project as a person can see it: nothing hides, moves, ends a line, or speaks to a terminal."""

from __future__ import annotations

import re
from typing import Final

_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Control characters, marks that turn the direction of text, and what takes no room: they hide or move what is read."""


def visible(text: str) -> str:
    """``text`` with what cannot be seen shown by its code point, and bytes that are no text as ``\\udcXX``.

    A carriage return before a line feed is left out: it is how the line ends, and nothing that a person reads.
    """
    if text.isascii() and text.isprintable():
        return text
    plain = text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\r\n", "\n")
    return _INVISIBLE.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", plain)


def in_one_line(text: str) -> str:
    """``text`` on one line, each run of white space as one blank."""
    return visible(" ".join(text.split()))


def file_name(name: str) -> str:
    """A file's name on one line, with its white space as it is, since another name may differ by that alone."""
    return visible(name.replace("\r", "⟨U+000D⟩")).replace("\n", "⟨U+000A⟩").replace("\t", "⟨U+0009⟩")
