"""requirements.txt and constraints.txt."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.source.requirements.entry import Document, Entry, Spot, newline, parse, without_line

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOGICAL = re.compile(r"(?:[^\r\n\\]|\\(?:\r\n|.|\r|\n)|\\$)+", re.DOTALL)
_COMMENT = re.compile(r"(?:^|(?<=\s))#")
_OPTION = re.compile(r"\s+--?\w")


def read(text: str) -> Document:
    """The requirements of a file for ``pip install -r``. Lines that continue with a backslash are one."""
    return Document(text, list(_entries(text)))


def _entries(text: str) -> Iterator[Entry]:
    for line in _LOGICAL.finditer(text):
        start, end = line.span()
        comment = _COMMENT.search(text, start, end)
        content_end = comment.start() if comment else end
        content = text[start:content_end]
        lead = re.match(r"\s*(?:-e|--editable)[ =]\s*|\s*", content)
        assert lead is not None
        begin = start + lead.end()
        if text[begin : begin + 1] == "-":
            continue
        option = _OPTION.search(text, begin, content_end)
        stop = option.start() if option else content_end
        stop = begin + len(text[begin:stop].rstrip(" \t\r\n\\"))
        entry = parse(text, begin, stop)
        if entry is None:
            continue
        indent = content[: len(content) - len(content.lstrip())].replace("\n", "").replace("\r", "")
        yield entry._replace(
            has_hashes="--hash" in content,
            removal=without_line(text, begin, max(content_end - 1, begin)) if not comment else _commented(begin, start),
            following=(Spot(end, end, f"{newline(text)}{indent}{{}}"),),
        )


def _commented(begin: int, start: int) -> Spot:
    return Spot(start, start, "# ") if begin > start else Spot(begin, begin, "# ")
