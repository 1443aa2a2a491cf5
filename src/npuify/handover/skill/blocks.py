"""The blocks of code in a Markdown page, in order."""

from __future__ import annotations

import re
from typing import NamedTuple

_FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})[ \t]*([^`\n]*)")


class Block(NamedTuple):
    """One fenced block."""

    language: str
    words: tuple[str, ...]
    """What follows the language on the line that opens it."""
    text: str
    line: int
    """Of the line that opens it, from 1."""
    closed: bool


def blocks(text: str) -> list[Block]:
    """Every fenced block of ``text``, as CommonMark reads it; one that is not closed goes to the end."""
    found: list[Block] = []
    fence, language, words, opened = "", "", (), 0
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        match = _FENCE.fullmatch(line)
        if not fence:
            if match is not None:
                fence, (language, *rest) = match[2], match[3].split() or [""]
                words, opened, lines = tuple(rest), number, []
        elif match is not None and match[2][0] == fence[0] and len(match[2]) >= len(fence) and not match[3].strip():
            found.append(Block(language, words, "".join(lines), opened, True))
            fence = ""
        else:
            lines.append(line + "\n")
    if fence:
        found.append(Block(language, words, "".join(lines), opened, False))
    return found
