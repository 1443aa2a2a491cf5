"""Notebooks: their code cells as one program for the rules, and their ``pip install`` lines as requirements."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from npuify.model import Edit, FileError, Finding, Position, Safety
from npuify.rules.dependencies import judge
from npuify.rules.dependency_file import DependencyFile
from npuify.rules.installations import argument_edits
from npuify.rules.notebook_program import make_program
from npuify.rules.unparsed import search_tokens
from npuify.rules.worker import parses
from npuify.source.magics import mask, without_automagic
from npuify.source.notebook import Cell, CellText, Notebook, read_notebook
from npuify.source.pip_command import pip_commands
from npuify.source.requirements import pip
from npuify.source.text import Text, UnreadableText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.worker import Worker
    from npuify.source.pip_command import PipCommand

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BY_HAND = "change it by hand: what has to change lies in two cells, or in a magic"


def notebook_findings(relative: str, text: Text, worker: Worker) -> list[Finding]:
    """What the rules find in a notebook; what of it cannot be treated goes to the worker.

    Raises:
        UnreadableText: it is no notebook.
    """
    notebook = read_notebook(text.data)
    if not notebook.is_python:
        return []
    needs_torch_npu, later = worker.needs_torch_npu, worker.later
    problems: list[FileError] = []
    found: list[Finding] = []
    cells = [_View(notebook, cell) for cell in notebook.cells]
    for view in cells:
        for start, end in view.masked.shell:
            found += _commands(relative, view.text, start, end, text, worker)
            for command in pip_commands(view.text.text, start, end):
                found += _requirements(relative, view.text, command, text, worker)
        if view.masked.writes:
            found += _written_file(relative, view, text, worker)
    program, broken = make_program([(view.text, view.masked) for view in cells if not view.masked.writes])
    for cell, masked, error in broken:
        tokens, failed = search_tokens(relative, masked.text, error)
        problems += [_problem(failure, cell, text) for failure in failed]
        found += [_placed(one, cell, _offset(cell.text, one.start), text) for one in tokens]
    if program.parts:
        seen, errors = worker.findings_of_bytes(
            relative, program.data, needs_torch_npu=needs_torch_npu, whole=False, kind="python", later=later
        )
        problems += [msgspec.structs.replace(error, line=0) for error in errors]
        for finding in seen:
            offset = _offset(program.data, finding.start)
            part = program.part_at(offset, ends_line=finding.start == finding.end and bool(finding.edits))
            placed = _placed(finding, part.text, offset - part.start, text)
            found.append(_edited(placed, finding, [program.edit(edit) for edit in finding.edits]))
    worker.problems += problems
    return sorted(found, key=lambda finding: (finding.start, finding.end, finding.code))


class _View:
    def __init__(self, notebook: Notebook, cell: Cell) -> None:
        self.text = CellText(notebook, cell)
        masked = mask(self.text.text)
        if masked.text and not parses(masked.text):
            other = without_automagic(masked)
            masked = other if parses(other.text) else masked
        self.masked = masked


def _offset(data: bytes, place: Position) -> int:
    """The offset in a text of what a finding calls line and column."""
    starts = [0, *(match.end() for match in _LINE_END.finditer(data)), len(data)]
    start = starts[place.line - 1]
    line = data[start : starts[place.line]].decode("utf-8", "replace")
    return start + len(line[: place.column - 1].encode())


def _placed(finding: Finding, cell: CellText, offset: int, text: Text) -> Finding:
    """A finding at ``offset`` of a cell, without its edits."""
    offset = min(offset, len(cell.text))
    line = len(_LINE_END.findall(cell.text, 0, offset)) + 1
    place = Position(*text.position(cell.raw_span(offset, offset)[0]))
    size = finding.end.column - finding.start.column if finding.start.line == finding.end.line else 0
    return msgspec.structs.replace(
        finding,
        start=place,
        end=Position(place.line, place.column + size),
        message=f"cell {cell.cell.number}, line {line}: {finding.message}",
        edits=(),
        safety=Safety.MANUAL,
    )


def _edited(placed: Finding, finding: Finding, edits: list[Edit | None]) -> Finding:
    """The placed finding with its edits, which are made together or not at all."""
    chosen = tuple(sorted(edit for edit in edits if edit is not None))
    if not edits:
        return placed
    if len(chosen) < len(edits):
        advice = f"{placed.advice}; {_BY_HAND}" if placed.advice else _BY_HAND
        return msgspec.structs.replace(placed, advice=advice, needs_torch_npu=False)
    return msgspec.structs.replace(placed, edits=chosen, safety=finding.safety)


def _problem(failure: FileError, cell: CellText, text: Text) -> FileError:
    place = (
        _offset(cell.text, Position(min(failure.line, len(_LINE_END.findall(cell.text)) + 1), 1)) if failure.line else 0
    )
    line, _ = text.position(cell.raw_span(place, place)[0])
    return FileError(failure.file, f"cell {cell.cell.number}: {failure.message}", line, failure.advice)


def _requirements(relative: str, cell: CellText, command: PipCommand, text: Text, worker: Worker) -> Iterator[Finding]:
    """What becomes of the packages of one ``pip install``."""
    try:
        listed = Text(command.text)
    except UnreadableText:
        return
    file = DependencyFile(relative, listed, pip.read(command.text.decode("latin-1")), worker.release)
    for finding in judge(file):
        offset = command.start + _offset(command.text, finding.start)
        placed = _placed(finding, cell, offset, text)
        yield _edited(placed, finding, argument_edits(finding, cell, command))


def _commands(relative: str, cell: CellText, start: int, end: int, text: Text, worker: Worker) -> Iterator[Finding]:
    """What the rules for shell scripts find in a command, or in a cell of them."""
    script = cell.text[start:end]
    found, _ = worker.findings_of_bytes(relative, script, kind="shell")
    is_line = b"\n" not in script
    for finding in found:
        placed = _placed(finding, cell, start + _offset(script, finding.start), text)
        edits = [
            None if is_line and "\n" in edit.after else cell.edit(edit.start + start, edit.end + start, edit.after)
            for edit in finding.edits
        ]
        yield _edited(placed, finding, edits)


def _written_file(relative: str, view: _View, text: Text, worker: Worker) -> Iterator[Finding]:
    """What the rules find in a file that a cell writes. It is a program of its own, so it is only told of."""
    found, _ = worker.findings_of_bytes(relative, view.masked.text, kind="python")
    for finding in found:
        if finding.edits and finding.start == finding.end:
            continue
        placed = _placed(finding, view.text, _offset(view.masked.text, finding.start), text)
        advice = f"the cell writes {view.masked.writes}: migrate that file, and put it into the cell"
        yield msgspec.structs.replace(placed, advice=advice, needs_torch_npu=False)
