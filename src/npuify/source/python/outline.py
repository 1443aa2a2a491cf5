"""The outline of a Python file, found without parsing it, so that only the parts of interest are parsed.

Functions and classes at the left margin, and methods of those classes, are told apart by their lines alone. A part that
holds nothing of interest is handed to the parser as so many empty lines: positions stay right, and parsing costs what
the rest costs. Whatever cannot be cut safely is left whole.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from npuify.words import Words

if TYPE_CHECKING:
    from collections.abc import Iterator

_DOUBLE = b'"""'
_SINGLE = b"'''"
_BACKSLASH = ord("\\")
_F_PREFIX = (b"f", b"F", b"t", b"T")
_TOKEN = re.compile(rb"""'(?!'')(?:\\.|[^'\\\n])*'|"(?!"")(?:\\.|[^"\\\n])*"|#[^\n]*|[^"'#]+|["']+""", re.DOTALL)
"""A string of one line, a comment, or what stands between them; quotes that begin no such string by themselves."""
_FIRST_METHOD = re.compile(rb"^([ \t]+)(?:(?:async[ \t]+)?def[ \t]|@)", re.MULTILINE)


class Part(NamedTuple):
    """A function, class or method, with its decorators and all that follows up to the next of its level.

    ``start`` and ``end`` are offsets. ``owner`` is the name of the class around a method, else empty.
    """

    start: int
    end: int
    name: str
    is_class: bool
    indent: bytes = b""
    owner: str = ""


class Outline:
    """Cuts one file into parts.

    Args:
        data: the text as UTF-8.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        lone_returns = b"\r" in data and data.count(b"\r") != data.count(b"\r\n")
        self._says_global: bool | None = None
        self._globals: list[int] | None = None
        self._literals = None if lone_returns else _triple_quoted(data)

    def is_text(self, offset: int) -> bool:
        """Whether a word stands in a comment, or in a literal of several lines that is no f-string.

        Such words are prose, examples or code in strings: no rule looks there. False also where it cannot be told.
        """
        literals = self._literals
        if literals is None:
            return False
        data = self.data
        index = bisect_right(literals, (offset,)) - 1
        if index >= 0 and literals[index][0] <= offset < literals[index][1]:
            start, end = literals[index]
            return (
                data[start - 1 : start] not in _F_PREFIX
                and data[start - 2 : start - 1] not in _F_PREFIX
                and (data.find(b"\n", start, end) >= 0)
            )
        line_start = data.rfind(b"\n", 0, offset) + 1
        if index >= 0:
            line_start = max(line_start, literals[index][1])
        before = data[line_start:offset]
        mark = before.find(b"#")
        return mark >= 0 and b'"' not in before[:mark] and b"'" not in before[:mark]

    def literal_at(self, offset: int) -> tuple[int, int] | None:
        """The span, without its opening quotes, of the triple-quoted literal around an offset."""
        index = bisect_right(self._literals or [], (offset,)) - 1
        if index >= 0 and self._literals is not None and offset < self._literals[index][1]:
            return self._literals[index]
        return None

    def literal_before(self, offset: int) -> int:
        """Where the last triple-quoted literal before an offset ends; 0 where there is none."""
        index = bisect_right(self._literals or [], (offset,)) - 1
        return self._literals[index][1] if index >= 0 and self._literals is not None else 0

    def top_level(self) -> list[Part]:
        """Functions and classes at the left margin; none where the file cannot be cut safely."""
        return self._cut(0, len(self.data), b"", "")

    def methods(self, part: Part) -> list[Part]:
        """The methods of a class; none where it cannot be cut safely."""
        end = self._behind(part)
        if end is None:
            end = part.end
        first = _FIRST_METHOD.search(self.data, part.start, end)
        if first is None:
            return []
        return self._cut(first.start(), end, first.group(1), part.name)

    def _cut(self, begin: int, limit: int, indent: bytes, owner: str) -> list[Part]:
        literals = self._literals
        if literals is None:
            return []
        data = self.data
        head = _patterns(indent)[0]
        places = [begin + start + 1 for start, _ in _heads(indent).places(data[begin:limit] if begin else data)]
        starts: list[tuple[int, str, bool]] = []
        decorated = -1
        literal = 0
        for place in (begin, *places):
            match = head.match(data, place, limit)
            if match is None:
                continue
            while literal < len(literals) and literals[literal][1] <= place:
                literal += 1
            if literal < len(literals) and literals[literal][0] < place:
                continue
            name = match.group(1) or match.group(2)
            if name is None:
                if decorated < 0:
                    decorated = place
                continue
            start = decorated if decorated >= 0 else place
            starts.append((start, name.decode("utf-8", "replace"), match.group(2) is not None))
            decorated = -1
        if decorated >= 0:
            return []
        ends = [start for start, _, _ in starts[1:]] + [limit] if starts else []
        return [
            Part(start, end, name, is_class, indent, owner)
            for (start, name, is_class), end in zip(starts, ends, strict=True)
        ]

    def body(self, part: Part) -> Part:
        """The part without the statements of its level, or of one further out, that follow its body."""
        behind = self._behind(part)
        if behind is None:
            return part
        end = self.data.rfind(b"\n", 0, behind) + 1
        return Part(part.start, end, part.name, part.is_class, part.indent, part.owner)

    @property
    def says_global(self) -> bool:
        """Whether the word ``global`` stands anywhere; asked once, as it takes a search of the whole text."""
        if self._says_global is None:
            self._says_global = b"global " in self.data
        return self._says_global

    def has_global(self, part: Part) -> bool:
        """Whether a ``global`` statement stands in a part, which then binds names outside of it."""
        if not self.says_global:
            return False
        if self._globals is None:
            self._globals = list(self._global_statements())
        first = bisect_left(self._globals, part.start)
        return first < len(self._globals) and self._globals[first] + len(b"global ") <= part.end

    def _global_statements(self) -> Iterator[int]:
        """Where ``global`` begins a statement; elsewhere it is but the word."""
        data = self.data
        place = data.find(b"global ")
        while place >= 0:
            before = data[data.rfind(b"\n", 0, place) + 1 : place].strip()
            if not before or before[-1:] in b":;":
                yield place
            place = data.find(b"global ", place + 7)

    def _behind(self, part: Part) -> int | None:
        """Where the first statement of a part's level, or of one further out, begins behind its body; or None."""
        literals = self._literals or []
        literal = max(bisect_right(literals, (part.start,)) - 1, 0)
        # At the very start of the text no line end stands before the head.
        heads = 1 if part.start == 0 and not self.data.startswith(b"@") else 0
        for match in _patterns(part.indent)[1].finditer(self.data, max(part.start - 1, 0), part.end):
            place = match.end() - 1
            while literal < len(literals) and literals[literal][1] <= place:
                literal += 1
            if literal < len(literals) and literals[literal][0] < place:
                continue
            heads += 1
            if heads > 1:
                return place
        return None


@lru_cache(maxsize=16)
def _heads(indent: bytes) -> Words:
    """What the heads of parts of this indentation begin with."""
    return Words(
        b"\n" + indent + word for word in (b"def ", b"def\t", b"class ", b"class\t", b"async ", b"async\t", b"@")
    )


@lru_cache(maxsize=16)
def _patterns(indent: bytes) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """What begins a part of this indentation, and what begins any statement of it or of one further out."""
    margin = rb"^" + re.escape(indent)
    return (
        re.compile(margin + rb"(?:(?:async[ \t]+)?def[ \t]+(\w+)|class[ \t]+(\w+)|@)", re.MULTILINE),
        re.compile(rb"\n[ \t]{0,%d}[^\s#)\]}@]" % len(indent)),
    )


def _triple_quoted(data: bytes) -> list[tuple[int, int]] | None:
    """The spans of all triple-quoted literals; None where one does not end."""
    spans: list[tuple[int, int]] = []
    position = 0
    double, single = data.find(_DOUBLE), data.find(_SINGLE)
    while True:
        # Two searches for a word are many times quicker than one for an alternative.
        if 0 <= double < position:
            double = data.find(_DOUBLE, position)
        if 0 <= single < position:
            single = data.find(_SINGLE, position)
        if double < 0 and single < 0:
            return spans
        start, quotes = (single, _SINGLE) if double < 0 or 0 <= single < double else (double, _DOUBLE)
        line_start = data.rfind(b"\n", 0, start) + 1
        begin = max(line_start, position)
        before = data[begin:start]
        if before and not before.isspace() and (b"#" in before or b'"' in before or b"'" in before):
            # The quotes may stand in a comment or in another string; then the search goes on behind it.
            for match in _TOKEN.finditer(data, begin):
                if match.end() > start:
                    break
            if match.start() != start:
                position = match.end()
                continue
        end = start + 3
        while True:
            end = data.find(quotes, end)
            if end < 0:
                return None
            if data[end - 1] != _BACKSLASH:
                break
            backslashes = 0
            while data[end - 1 - backslashes : end - backslashes] == b"\\":
                backslashes += 1
            if backslashes % 2 == 0:
                break
            end += 1
        spans.append((start, end + 3))
        position = end + 3
