"""``pip install …`` in a command line, read as a file of requirements whose offsets are those of the command."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_INSTALL = re.compile(
    rb"\b(?:uv[ \t]+)?pip[\d.]*[ \t]+install[ \t]+"
    rb"(?P<arguments>(?:\"[^\"\r\n]*\"|'[^'\r\n]*'|\\\r?\n|[^;&|#\r\n\"'\\])+)"
)
_ARGUMENT = re.compile(rb"\"[^\"]*\"|'[^']*'|[^\s\"'\\]+(?:\"[^\"]*\"|'[^']*')?")
_WITH_VALUE = frozenset(
    (
        b"-f",
        b"--find-links",
        b"-i",
        b"--index-url",
        b"--extra-index-url",
        b"-r",
        b"--requirement",
        b"-c",
        b"--constraint",
        b"-t",
        b"--target",
        b"--prefix",
        b"--platform",
        b"--python-version",
        b"--root",
        b"--src",
        b"--progress-bar",
        b"--timeout",
        b"--trusted-host",
        b"-e",
        b"--editable",
    )
)
_SPECIAL = re.compile(r"[<>;&|*!$()\s]")


class PipCommand(NamedTuple):
    """One ``pip install``."""

    start: int
    """Where its arguments begin."""
    text: bytes
    """The arguments as a file of requirements, of the same length."""
    arguments: tuple[tuple[int, int], ...]
    """Spans of the requirements, quotes included, counted as ``start`` is."""


def pip_commands(text: bytes, start: int, end: int) -> Iterator[PipCommand]:
    """The installations in ``text[start:end]``, a command or several."""
    for match in _INSTALL.finditer(text, start, end):
        first, last = match.span("arguments")
        out = bytearray(b" " * (last - first))
        spans = []
        value_of = b""
        for argument in _ARGUMENT.finditer(text, first, last):
            begin, stop = argument.start() - first, argument.end() - first
            word = argument.group()
            quoted = word[:1] in (b'"', b"'")
            out[begin:stop] = b" " + word[1:-1] + b" " if quoted else word
            if not value_of and begin:
                out[begin - 1 : begin] = b"\n"
            if not word.startswith(b"-") and value_of in (b"", b"-e", b"--editable"):
                spans.append((argument.start(), argument.end()))
            value_of = word if word in _WITH_VALUE else b""
        yield PipCommand(first, bytes(out), tuple(spans))


def as_argument(text: str) -> str:
    """A requirement as a shell takes it: in quotes where it has signs that mean something to a shell."""
    return f'"{text}"' if _SPECIAL.search(text) else text
