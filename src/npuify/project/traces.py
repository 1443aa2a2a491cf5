"""What one Python file or notebook shows without being parsed: a main guard, and the frameworks that it imports."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from npuify.project.known_frameworks import FRAMEWORKS
from npuify.words import Words, words_of

_GUARD: Final = re.compile(
    rb"""if[ \t(]+(?:__name__[ \t]*==[ \t]*["']__main__["']|["']__main__["'][ \t]*==[ \t]*__name__)"""
)
_NAMES: Final = {
    before + name.encode(): name
    for name in FRAMEWORKS
    for before in ((b"import ", b"from ") if "." in name else (b"import ", b"from ", b", ", b","))
}
"""The framework that a piece of an import statement names."""
_MAIN: Final = b"__main__"
IMPORT_WORDS: Final = (*_NAMES, _MAIN)
_COMMA: Final = ord(",")
_IDENTIFIER: Final = frozenset(bytes([byte]) for byte in range(256) if byte == 95 or chr(byte).isalnum())


class Trace(msgspec.Struct, array_like=True, frozen=True):
    """What is kept of a file."""

    guard: int = 0
    """Line of ``if __name__ == "__main__":``, from 1; 0 where there is none."""
    imports: tuple[tuple[str, int], ...] = ()
    """Frameworks by import name, each with the line that imports it first."""


_NOTHING: Final = Trace()


def trace(raw: bytes, words: Words | None = None, *, notebook: bool = False) -> Trace:
    """What the file with the content ``raw`` shows. Searched as text: a quoted program counts too.

    Args:
        raw: its bytes, as they are or in lower case.
        words: finds ``IMPORT_WORDS``.
        notebook: it is a Jupyter notebook, whose lines of code are strings of JSON.
    """
    blanks = b' \t"' if notebook else b" \t\r\f"
    guard = 0
    places: dict[str, int] = {}
    for start, end in (words or words_of(*IMPORT_WORDS)).places(raw):
        word = raw[start:end]
        if word == _MAIN:
            line = raw.rfind(b"\n", 0, start) + 1
            if not guard and _GUARD.match(raw, line):
                guard = raw.count(b"\n", 0, line) + 1
            continue
        name = _NAMES[word]
        if name not in places and raw[end : end + 1] not in _IDENTIFIER:
            line = raw.rfind(b"\n", 0, start) + 1
            before = raw[line:start]
            if notebook and b"\\n" in before:
                # A whole cell may be one string.
                before = before[before.rindex(b"\\n") + 2 :]
            before = before.lstrip(blanks)
            # Only a list goes on behind a comma: ``import numpy, torch``.
            if before.startswith(b"import ") and b"#" not in before if raw[start] == _COMMA else not before:
                places[name] = line
    imports = tuple((name, raw.count(b"\n", 0, at) + 1) for name, at in places.items())
    return Trace(guard, imports) if guard or imports else _NOTHING
