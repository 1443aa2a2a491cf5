"""setup.cfg: ``install_requires`` and the lists of ``options.extras_require``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.source.requirements.entry import Document, Entry, Spot, line_end, newline, parse, without_line

if TYPE_CHECKING:
    from collections.abc import Iterator

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_SECTION = re.compile(r"\[([^\]]+)\]")
_KEY = re.compile(r"([\w.-]+)[ \t]*[=:][ \t]*")


def read(text: str) -> Document:
    return Document(text, list(_entries(text)))


def _entries(text: str) -> Iterator[Entry]:
    section = key = ""
    for line in _LINE.finditer(text):
        content = line.group().rstrip("\r\n")
        if not content.strip() or content.lstrip()[0] in "#;":
            continue
        begin, is_first = line.start(), False
        if not content[0].isspace():
            header, option = _SECTION.match(content), _KEY.match(content)
            if header is not None:
                section, key = header.group(1).strip(), ""
                continue
            if option is None:
                continue
            key, begin, is_first = option.group(1), line.start() + option.end(), True
        if not ((section == "options" and key == "install_requires") or section == "options.extras_require"):
            continue
        end = line.start() + len(content)
        comment = re.compile(r"\s#").search(text, begin, end)
        entry = parse(text, begin, comment.start() if comment else end)
        if entry is None:
            continue
        indent = "    " if is_first else content[: len(content) - len(content.lstrip())]
        stop = line_end(text, end)
        yield entry._replace(
            group=f"{section}.{key}",
            is_main=section == "options",
            removal=None if is_first else without_line(text, entry.start, entry.end),
            following=(Spot(stop, stop, f"{newline(text)}{indent}{{}}"),),
        )
