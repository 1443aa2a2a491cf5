"""A Jupyter notebook: where the source of its cells stands in the JSON, and edits of that source as edits of the JSON.

The JSON is never written anew. Each string of a cell's source keeps its place, so that an edit changes the bytes of the
strings that it is about and no others: outputs, metadata, indentation and the order of keys stay as they are.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple

from npuify.language import phrase
from npuify.model import Edit
from npuify.source.text import UnreadableText

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLANKS = re.compile(rb"[ \t\r\n]*")
_STRING = re.compile(rb"\"([^\"\\]*(?:\\.[^\"\\]*)*)\"", re.DOTALL)
_SCALAR = re.compile(rb"[^,\]}\s]+")
_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
_PLAIN_ESCAPES = {b"\\n": "\n", b'\\"': '"', b"\\\\": "\\", b"\\t": "\t"}
_LANGUAGE = re.compile(rb"\"languageId\"\s*:\s*\"([\w+-]+)\"")
_DECODER = json.JSONDecoder()


class Piece(NamedTuple):
    """One JSON string of a cell's source: the span between its quotes."""

    start: int
    end: int


class Cell(NamedTuple):
    """A code cell."""

    number: int
    """Its place among all cells of the notebook, from 1."""
    pieces: tuple[Piece, ...]
    is_list: bool
    """Whether its source is a list of strings, one a line, and not one string."""
    separator: bytes
    """What stands between the quotes of two strings of that list."""
    language: str = ""
    """What an editor shows it as, such as ``shellscript``, in lower case; the kernel does not read it."""


class Notebook(NamedTuple):
    """What a notebook holds, as far as it matters here."""

    data: bytes
    cells: tuple[Cell, ...]
    is_python: bool


def read_notebook(data: bytes) -> Notebook:
    """The code cells of a notebook of format 3 or 4, given as UTF-8.

    Raises:
        UnreadableText: it is not JSON, or not a notebook.
    """
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 0)
        raise UnreadableText(phrase("is not a notebook: its JSON cannot be read: {error}", error=error), line) from None
    if not isinstance(content, dict) or not ("cells" in content or "worksheets" in content):
        raise UnreadableText("is not a notebook: it has no cells")
    return Notebook(data, tuple(_Reader(data).cells()), _is_python(content))


def _is_python(content: dict[str, Any]) -> bool:
    metadata = content.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        part = metadata.get(key)
        language = part.get(name) if isinstance(part, dict) else None
        if isinstance(language, str) and language:
            return language.lower() in ("python", "ipython", "python3", "python2")
    return True


class _Reader:
    """Walks JSON that is known to be valid, keeping places."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._characters = data.decode("latin-1")
        """A character for each byte, so that what the decoder says of places is true of bytes."""
        self.number = 0
        self._ends: dict[int, int] = {}
        """Where each object and list ends whose parts were walked: outputs are long, and are read but once."""

    def cells(self) -> Iterator[Cell]:
        for key, at in self._members(self._blank(0)):
            if key == b"cells":
                yield from self._cells(at)
            elif key == b"worksheets" and self.data[at : at + 1] == b"[":
                for item in self._items(at):
                    for inner, place in self._members(item):
                        if inner == b"cells":
                            yield from self._cells(place)

    def _cells(self, at: int) -> Iterator[Cell]:
        for item in self._items(at):
            self.number += 1
            is_code, source, language = False, -1, ""
            for key, place in self._members(item):
                if key == b"cell_type":
                    is_code = self.data.startswith(b'"code"', place)
                elif key in (b"source", b"input"):
                    source = place
                elif key == b"metadata":
                    language = self._language(place)
            if is_code and source >= 0:
                cell = self._cell(source)
                if cell is not None:
                    yield cell._replace(language=language) if language else cell

    def _language(self, at: int) -> str:
        """What ``{"vscode": {"languageId": "shellscript"}}`` says."""
        match = _LANGUAGE.search(self.data, at, self._after(at))
        return match.group(1).decode("utf-8", "replace").lower() if match is not None else ""

    def _cell(self, at: int) -> Cell | None:
        first = self.data[at : at + 1]
        if first == b'"':
            return Cell(self.number, (self._string(at),), False, b"")
        if first != b"[":
            return None
        places = list(self._items(at))
        if not places or any(self.data[place : place + 1] != b'"' for place in places):
            return None
        pieces = tuple(self._string(place) for place in places)
        if len(pieces) > 1:
            separator = self.data[pieces[0].end + 1 : pieces[1].start - 1]
        else:
            separator = b"," + self.data[at + 1 : pieces[0].start - 1]
        return Cell(self.number, pieces, True, separator)

    def _string(self, at: int) -> Piece:
        match = _STRING.match(self.data, at)
        assert match is not None
        return Piece(*match.span(1))

    def _members(self, at: int) -> Iterator[tuple[bytes, int]]:
        start = at
        if self.data[at : at + 1] != b"{":
            return
        at = self._blank(at + 1)
        while self.data[at : at + 1] == b'"':
            key = _STRING.match(self.data, at)
            assert key is not None
            at = self._blank(self._blank(key.end()) + 1)
            yield key.group(1), at
            at = self._blank(self._after(at))
            if self.data[at : at + 1] != b",":
                self._ends[start] = at + 1
                return
            at = self._blank(at + 1)

    def _items(self, at: int) -> Iterator[int]:
        start = at
        if self.data[at : at + 1] != b"[":
            return
        at = self._blank(at + 1)
        while self.data[at : at + 1] != b"]":
            yield at
            at = self._blank(self._after(at))
            if self.data[at : at + 1] != b",":
                self._ends[start] = at + 1
                return
            at = self._blank(at + 1)

    def _after(self, at: int) -> int:
        """Where the value that begins at ``at`` ends."""
        known = self._ends.get(at)
        if known is not None:
            return known
        if self.data[at : at + 1] in (b"{", b"["):
            return _DECODER.raw_decode(self._characters, at)[1]
        pattern = _STRING if self.data[at : at + 1] == b'"' else _SCALAR
        scalar = pattern.match(self.data, at)
        return scalar.end() if scalar else len(self.data)

    def _blank(self, at: int) -> int:
        match = _BLANKS.match(self.data, at)
        assert match is not None
        return match.end()


class CellText:
    """The decoded source of one cell, as UTF-8, with the way back into the JSON.

    Attributes:
        text: the source. A surrogate without its other half, which is no character, is ``???`` in it.
    """

    def __init__(self, notebook: Notebook, cell: Cell) -> None:
        self.cell = cell
        self._data = notebook.data
        self._ascii = notebook.data.isascii()
        self._texts: list[int] = []
        """Offsets in ``text`` at which a run begins, whose bytes stand in the JSON as they are, or an escape."""
        self._raws: list[int] = []
        self._broken: list[int] = []
        parts: list[bytes] = []
        size = 0
        for piece in cell.pieces:
            for part, raw in self._runs(piece):
                self._texts.append(size)
                self._raws.append(raw)
                parts.append(part)
                size += len(part)
        self.text = b"".join(parts)

    def _runs(self, piece: Piece) -> Iterator[tuple[bytes, int]]:
        data, at = self._data, piece.start
        if data.find(b"\\", piece.start, piece.end) < 0:
            yield data[piece.start : piece.end], piece.start
            return
        for match in _ESCAPE.finditer(data, piece.start, piece.end):
            if match.start() > at:
                yield data[at : match.start()], at
            escape = match.group()
            character: str = _PLAIN_ESCAPES.get(escape) or json.loads(b'"' + escape + b'"')
            try:
                decoded = character.encode()
            except UnicodeEncodeError:
                decoded = b"???"
                self._broken.append(match.start())
            yield decoded, match.start()
            at = match.end()
        if at < piece.end:
            yield data[at : piece.end], at

    def _raw(self, offset: int, *, end: bool) -> int:
        """Where ``offset`` of the text stands in the JSON; an end stands before a quote, not in the string after it."""
        if not self._texts:
            return self.cell.pieces[0].start
        index = bisect_right(self._texts, offset) - 1
        if end and index and self._texts[index] == offset:
            # The end of what comes before: in another string, that lies before the quotes between them.
            before = self._raws[index]
            piece = next(piece for piece in self.cell.pieces if piece.start <= before <= piece.end)
            if piece.start < before or piece is self.cell.pieces[0]:
                return before
            return max(one.end for one in self.cell.pieces if one.end < piece.start and one.end > one.start)
        raw = self._raws[index] + offset - self._texts[index]
        last = self.cell.pieces[-1]
        if offset == len(self.text):
            return last.end
        return raw

    def raw_span(self, start: int, end: int) -> tuple[int, int]:
        """The span of the JSON that holds ``text[start:end]``."""
        begin = self._raw(start, end=False)
        return begin, begin if start == end else self._raw(end, end=True)

    def edit(self, start: int, end: int, after: str) -> Edit | None:
        """Put ``after`` in place of ``text[start:end]``; None where that cannot be done."""
        first, last = self.raw_span(start, end)
        if any(first <= place < last for place in self._broken):
            return None
        follows = end < len(self.text) and any(piece.start <= last < piece.end for piece in self.cell.pieces)
        written = self._written(after, follows=follows)
        before = self._data[first:last].decode()
        return Edit(first, last, before, written)

    def _written(self, text: str, *, follows: bool) -> str:
        """``text`` as JSON; in a list of lines each line becomes a string of its own."""
        if not self.cell.is_list:
            return self._escaped(text)
        lines = re.split(r"(?<=\n)", text)
        if lines[-1] == "" and not follows:
            lines.pop()
        between = f'"{self.cell.separator.decode()}"'
        return between.join(self._escaped(line) for line in lines)

    def _escaped(self, text: str) -> str:
        return json.dumps(text, ensure_ascii=self._ascii)[1:-1]
