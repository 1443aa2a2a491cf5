"""A notebook as an editor shows it, cell by cell, and as the file that npuify looks at."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.editor.lines import Replacement, difference, lines_of
from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Sequence

_HALF_AN_ESCAPE: Final = re.compile(r"(?<!\\)(?P<whole>(?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?$")


class CellText(NamedTuple):
    """One cell in an editor."""

    is_code: bool
    text: str


class NotebookText:
    """The cells of a notebook, and the file that holds them: a line of a cell is a line there.

    Args:
        cells: in order.
        language: of the notebook's kernel.
    """

    def __init__(self, cells: Sequence[CellText], language: str = "python") -> None:
        self._cells = tuple(cells)
        self._first: list[int] = []
        """For each cell the line of the file that its first line is, from 1."""
        written = ["{"]
        written.append(f'"metadata": {json.dumps({"kernelspec": {"language": language}})},')
        written.append('"nbformat": 4, "nbformat_minor": 5, "cells": [')
        for number, cell in enumerate(self._cells):
            kind = '"code", "execution_count": null, "outputs": []' if cell.is_code else '"markdown"'
            written.append(
                phrase(
                    '{value}{{"cell_type": {kind}, "metadata": {{}}, "source": [',
                    value=", " if number else "",
                    kind=kind,
                )
            )
            self._first.append(len(written) + 1)
            lines = [json.dumps(line, ensure_ascii=False) for line in lines_of(cell.text)]
            written += [f"{line}," for line in lines[:-1]] + (lines[-1:] or [""])
            written.append("]}")
        written.append("]}\n")
        self.text = "\n".join(written)
        self._written = written

    def place(self, line: int, column: int) -> tuple[int, int, int] | None:
        """Where a place of the file stands: the cell, from 0, and line and column in it, from 1; None: in no cell."""
        cell = bisect_right(self._first, line) - 1
        if cell < 0 or line > self._first[cell] + len(lines_of(self._cells[cell].text)):
            return None
        held = self._written[line - 1].removesuffix(",")[1:-1]
        before = _HALF_AN_ESCAPE.sub(r"\g<whole>", held[: max(column - 2, 0)])
        column = len(json.loads(f'"{before}"')) + 1
        return cell, line - self._first[cell] + 1, column

    def replacements(self, made: Sequence[Replacement]) -> dict[int, list[Replacement]]:
        """What replacements of the file's lines are in each cell that they change."""
        lines = lines_of(self.text)
        for one in reversed(made):
            lines[one.first : one.last] = lines_of(one.text)
        after = ["".join(cell["source"]) for cell in json.loads("".join(lines))["cells"]]
        return {
            number: difference(cell.text, text)
            for number, (cell, text) in enumerate(zip(self._cells, after, strict=True))
            if cell.text != text
        }
