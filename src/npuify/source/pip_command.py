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
        b"--torch-backend",
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
    is_words: bool = False
    """The command is a list of words in quotes, as JSON has it; the spans leave the quotes out."""


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


_WORDS_INSTALL = re.compile(rb'"pip[\d.]*"\s*,\s*"install"\s*,')
_JSON_WORDS = re.compile(rb"\[\s*(?:\"[^\"\\\s]*\"\s*,?\s*)+\]\s*\Z")


def pip_words(text: bytes, start: int, end: int) -> Iterator[PipCommand]:
    """The installation in ``text[start:end]``, where that is a list of words like ``["pip", "install", "torch"]``."""
    install = _WORDS_INSTALL.search(text, start, end)
    if install is None or _JSON_WORDS.fullmatch(text[start:end]) is None:
        return
    plain = re.sub(rb"[\[\],\"]", b" ", text[:end])
    # Blanks alone stand between the two words now, which the search needs, and no line end.
    head = re.sub(rb"\s", b" ", plain[start : install.end()])
    for command in pip_commands(plain[:start] + head + plain[install.end() :].replace(b"\n", b" "), start, end):
        yield command._replace(is_words=True)


def as_argument(text: str) -> str:
    """A requirement as a shell takes it: in quotes where it has signs that mean something to a shell."""
    return f'"{text}"' if _SPECIAL.search(text) else text
