"""The lines of a Python file on which words and identifiers stand, found without parsing it."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from npuify.words import Words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from npuify.source.python.outline import Outline
    from npuify.source.text import Text

_NAME_BYTES = frozenset(bytes([byte]) for byte in range(256) if byte == 95 or byte > 127 or chr(byte).isalnum())
_WALRUS = re.compile(rb":=")
_GLOBAL = re.compile(rb"global[ \t]+([\w \t,]+)")
_MANY = 30
"""Names for which one search for all of them costs less than one for each."""


class Lines:
    """The lines of one file, counted from 1.

    Args:
        text: its text.
        outline: tells code from comments and prose.
    """

    def __init__(self, text: Text, outline: Outline) -> None:
        self._text = text
        self._data = text.data
        self._outline = outline
        self._with_words: dict[Words, dict[int, int]] = {}

    def with_names(self, names: Iterable[str]) -> set[int]:
        """The lines on which one of these identifiers stands."""
        data, line_of, starts = self._data, self._text.line_of, self._text.line_starts
        lines: set[int] = set()
        wanted = set(names)
        if len(wanted) > _MANY:
            # A file that binds thousands of names would else be searched thousands of times.
            for place, end in Words(name.encode() for name in wanted).places(data):
                if data[end : end + 1] not in _NAME_BYTES and data[place - 1 : place] not in _NAME_BYTES:
                    lines.add(line_of(place))
            return lines
        for name in wanted:
            word = name.encode()
            place = data.find(word)
            while place >= 0:
                end = place + len(word)
                if data[end : end + 1] not in _NAME_BYTES and data[place - 1 : place] not in _NAME_BYTES:
                    line = line_of(place)
                    lines.add(line)
                    if line >= len(starts):
                        break
                    end = starts[line]
                place = data.find(word, end)
        return lines

    def with_words(self, words: Words) -> dict[int, int]:
        """The lines that hold one of the words in any case, each with the offset of its start.

        Comments and prose are left out.
        """
        known = self._with_words.get(words)
        if known is not None:
            return known
        data, is_text = self._data, self._outline.is_text
        found: dict[int, int] = {}
        # Most files hold few such words, so that counting lines up to them costs less than a table of all lines.
        counts = b"\r" not in data
        line, low, high = 1, 0, 0
        for start, _ in words.places(self._text.lower):
            if low <= start < high or is_text(start):
                continue
            if counts:
                begin = data.rfind(b"\n", 0, start) + 1
                line += data.count(b"\n", low, begin)
                high = data.find(b"\n", start) + 1 or len(data)
                low = begin
            else:
                starts = self._text.line_starts
                line = bisect_right(starts, start)
                low, high = starts[line - 1], starts[line] if line < len(starts) else len(data)
            found[line] = low
        self._with_words[words] = found
        return found

    def with_walrus(self) -> set[int]:
        """The lines that may hold ``:=``."""
        if b":=" not in self._data:
            return set()
        line_of = self._text.line_of
        return {line_of(match.start()) for match in _WALRUS.finditer(self._data)}

    def with_global(self) -> set[int]:
        """The lines of ``global`` statements about names that are somewhere imported, or assigned something of torch.

        Only these can change what a name stands for; finding their functions means walking the tree.
        """
        if not self._outline.says_global:
            return set()
        data = self._data
        declared: dict[str, set[int]] = {}
        place = data.find(b"global")
        while place >= 0:
            before = data[data.rfind(b"\n", 0, place) + 1 : place].strip()
            # Else it is no statement, but the word.
            match = _GLOBAL.match(data, place) if not before or before[-1:] in b":;" else None
            if match is not None:
                line = self._text.line_of(place)
                for name in match.group(1).split(b","):
                    declared.setdefault(name.strip().decode(), set()).add(line)
            place = data.find(b"global", match.end() if match else place + 6)
        return {line for name, lines in declared.items() if name and self._is_bound_to_library(name) for line in lines}

    def _is_bound_to_library(self, name: str) -> bool:
        """Whether an identifier stands on a line that imports something, or that speaks of torch."""
        starts = self._text.line_starts
        for number in self.with_names((name,)):
            line = self._data[starts[number - 1] : starts[number] if number < len(starts) else None]
            if b"import" in line or b"torch" in line:
                return True
        return False
