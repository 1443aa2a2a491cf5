"""The code cells of a notebook as one program, and edits of that program as edits of the notebook."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from npuify.source.python import parses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.model import Edit
    from npuify.source.notebook.cells import CellText
    from npuify.source.notebook.magics import Masked


class Part(NamedTuple):
    """A cell in the program."""

    start: int
    """Its offset in the program."""
    text: CellText
    masked: Masked


class Program:
    """The code cells of a notebook that are Python, in their order, as one Python file.

    Args:
        cells: the cells, each with what of it is Python.

    Attributes:
        data: the program. Magics are overwritten in it; all else stands as in the cells, each of which ends a line.
        parts: the cells that it is made of.
    """

    def __init__(self, cells: Sequence[tuple[CellText, Masked]]) -> None:
        self.parts: list[Part] = []
        pieces: list[bytes] = []
        size = 0
        for text, masked in cells:
            self.parts.append(Part(size, text, masked))
            ended = masked.text if masked.text.endswith((b"\n", b"\r")) else masked.text + b"\n"
            pieces.append(ended)
            size += len(ended)
        self.data = b"".join(pieces)
        self._starts = [part.start for part in self.parts]

    def part_at(self, offset: int, *, ends_line: bool = False) -> Part:
        """The cell of an offset; with ``ends_line`` the start of a cell belongs to the cell before it."""
        index = max(0, bisect_right(self._starts, offset) - 1)
        if ends_line and index and self._starts[index] == offset:
            index -= 1
        return self.parts[index]

    def edit(self, edit: Edit) -> Edit | None:
        """An edit of the program as one of the notebook; None where it is about two cells, or about a magic."""
        after = edit.after
        ends_line = edit.start == edit.end and after.endswith("\n")
        part = self.part_at(edit.start, ends_line=ends_line)
        length = len(part.text.text)
        start, end = edit.start - part.start, edit.end - part.start
        if ends_line and start > length:
            # The line end between two cells is not written in the notebook.
            start = end = length
            after = "\n" + after[:-1]
        if start > length or end > length:
            return None
        if any(first < end and start < last for first, last in part.masked.masked):
            return None
        return part.text.edit(start, end, after)


def make_program(
    cells: Sequence[tuple[CellText, Masked]],
) -> tuple[Program, list[tuple[CellText, Masked, SyntaxError]]]:
    """The program that these cells make, and the cells that the running Python cannot parse, which are left out."""
    cells = [(text, masked) for text, masked in cells if masked.text.strip()]
    program = Program(cells)
    if parses(program.data):
        return program, []
    failures = [(text, masked, _error(masked.text)) for text, masked in cells]
    broken = [(text, masked, error) for text, masked, error in failures if error is not None]
    return Program([(text, masked) for text, masked, error in failures if error is None]), broken


def _error(cell: bytes) -> SyntaxError | None:
    if parses(cell):
        return None
    try:
        compile(cell.decode("utf-8", "replace"), "cell", "exec", dont_inherit=True)
    except SyntaxError as error:
        return error
    except (ValueError, MemoryError, RecursionError) as error:
        return SyntaxError(str(error))
    return SyntaxError("it cannot be parsed")
