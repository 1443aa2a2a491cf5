"""INI, .cfg, .conf and .env: lines of ``key = value``, with sections where there are any."""

from __future__ import annotations

import re

from npuify.source.settings import Document, Value

_LONGEST = 4000
"""Bytes of a line; a longer one is data."""
_LINE = re.compile(rb"[^\r\n]*")
_SECTION = re.compile(rb"[ \t]*\[([^\]\r\n]*)\][ \t]*(?:[#;][^\r\n]*)?$")
_PAIR = re.compile(
    rb"[ \t]*(?:export[ \t]+|setenv[ \t]+)?(?P<key>[^\s#;=:\[\]][^#;=:\r\n]*?)[ \t]*[=:][ \t]*"
    rb"(?P<value>\"[^\"\r\n]*\"|'[^'\r\n]*'|[^\r\n]*?)[ \t]*(?:(?<=\s)[#;][^\r\n]*)?$"
)


def read(data: bytes) -> Document:
    """The pairs of a file. A line of any other form is passed over."""
    found = Document([], [])
    section: tuple[str, ...] = ()
    number = 0
    at = 0
    while at < len(data):
        match = _LINE.match(data, at)
        assert match is not None
        line, begin = match.group(), at
        at = match.end() + 1
        head = _SECTION.match(line)
        if head is not None:
            section = (head.group(1).decode("utf-8", "replace").strip(),)
            number += 1
            continue
        pair = _PAIR.match(line) if len(line) <= _LONGEST else None
        if pair is None:
            continue
        start, end = pair.span("value")
        quote = ""
        if (
            end - start > 1
            and line[start : start + 1] in (b'"', b"'")
            and line[end - 1 : end] == line[start : start + 1]
        ):
            quote = line[start : start + 1].decode()
            start, end = start + 1, end - 1
        key = pair.group("key").decode("utf-8", "replace")
        found.values.append(
            Value(
                (*section, key),
                line[start:end].decode("utf-8", "replace"),
                begin + start,
                begin + end,
                begin + pair.start("key"),
                begin + pair.end("key"),
                quote,
                number,
                key,
            )
        )
    return found
