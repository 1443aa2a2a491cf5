"""Notebooks: their code cells as one program for the rules, their commands as shell scripts."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from npuify.engine.ledger.account import account
from npuify.engine.notebooks.program import make_program
from npuify.engine.unparsed import search_tokens
from npuify.language import phrase
from npuify.model import Edit, FileError, Finding, LedgerEntry, Position, Safety, State
from npuify.project.kinds import kind_of_path
from npuify.rules.environment.variables import Mention, Setting, judge_variables
from npuify.rules.run import Result
from npuify.rules.text_file import TextFile
from npuify.source.notebook.cells import Cell, CellText, Notebook, read_notebook
from npuify.source.notebook.magics import mask, shown_as, without_automagic
from npuify.source.python import parses
from npuify.source.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.rules.job import Job
    from npuify.source.notebook.magics import WrittenFile

_LINE_END = re.compile(rb"\r\n|\r|\n")
_SETTING = re.compile(rb"(?P<name>[A-Za-z_]\w*)(?:[ \t]*(?P<sign>=)[ \t]*|[ \t]+)?(?P<value>.*?)[ \t]*\Z", re.DOTALL)
_NPU = re.compile(rb"npu|hccl")
_BY_HAND = "change it by hand: what has to change lies in two cells, or in a magic"


def notebook_findings(relative: str, text: Text, job: Job) -> Result:
    """What the rules find in a notebook.

    Raises:
        UnreadableText: it is no notebook.
    """
    notebook = read_notebook(text.data)
    if not notebook.is_python:
        return Result([])
    problems: list[FileError] = []
    found: list[Finding] = []
    ledger: list[LedgerEntry] = []
    cells = [_View(notebook, cell) for cell in notebook.cells]
    for view in cells:
        for start, end in view.masked.shell:
            more, accounted = _commands(relative, view.text, start, end, text, job)
            found += more
            ledger += accounted
        if view.masked.writes is not None:
            more, failed, accounted = _written_file(relative, view.text, view.masked.writes, text, job)
            found += more
            problems += failed
            ledger += accounted
    found += _environment(relative, cells, text, job)
    program, broken = make_program([(view.text, view.masked) for view in cells])
    for cell, masked, error in broken:
        tokens, failed = search_tokens(relative, masked.text, error)
        problems += [_problem(failure, cell, text) for failure in failed]
        found += [_placed(one, cell, _offset(cell.text, one.start), text) for one in tokens]
        broken_text = Text(masked.text)
        answers = account(relative, broken_text, "python", tokens, None, (), job.run)
        ledger += [_entry_at(entry, cell, _offset(masked.text, _start(entry)), text) for entry in answers.entries]
    if program.parts:
        seen, errors, _, accounted = job.analyse(
            relative,
            program.data,
            needs_torch_npu=job.needs_torch_npu,
            whole=False,
            kind="python",
            is_later_round=job.is_later_round,
        )
        problems += [msgspec.structs.replace(error, line=0) for error in errors]
        for finding in seen:
            offset = _offset(program.data, finding.start)
            part = program.part_at(offset, ends_line=finding.start == finding.end and bool(finding.edits))
            placed = _placed(finding, part.text, offset - part.start, text)
            found.append(_edited(placed, finding, [program.edit(edit) for edit in finding.edits]))
        for entry in accounted:
            offset = _offset(program.data, _start(entry))
            part = program.part_at(offset)
            ledger.append(_entry_at(entry, part.text, offset - part.start, text))
    edited = {finding.code for finding in found if finding.edits}
    ledger = [
        msgspec.structs.replace(entry, state=State.REPORTED)
        if entry.state is State.EDITED and entry.by not in edited
        else entry
        for entry in sorted(ledger, key=_start)
    ]
    return Result(
        sorted(found, key=lambda finding: (finding.start, finding.end, finding.code)), problems, ledger=ledger
    )


def _start(entry: LedgerEntry) -> Position:
    return Position(entry.line, entry.column)


def _entry_at(entry: LedgerEntry, cell: CellText, offset: int, text: Text) -> LedgerEntry:
    """An entry of the ledger at ``offset`` of a cell, as one of the notebook."""
    offset = min(offset, len(cell.text))
    line, column = text.position(cell.raw_span(offset, offset)[0])
    return msgspec.structs.replace(entry, line=line, column=column)


class _View:
    def __init__(self, notebook: Notebook, cell: Cell) -> None:
        self.text = CellText(notebook, cell)
        masked = mask(self.text.text)
        if masked.text and not parses(masked.text):
            other = without_automagic(masked)
            masked = other if parses(other.text) else shown_as(cell.language, masked)
        self.masked = masked


@lru_cache(maxsize=4)
def _starts_of(data: bytes) -> list[int]:
    """Where the lines of a text begin, and its end: asked for each finding of one text after the other."""
    return [0, *(match.end() for match in _LINE_END.finditer(data)), len(data)]


def _offset(data: bytes, place: Position) -> int:
    """The offset in a text of what a finding calls line and column."""
    starts = _starts_of(data)
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
        message=phrase(
            "cell {number}, line {line}: {message}", number=cell.cell.number, line=line, message=finding.message
        ),
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


def _problem(failure: FileError, cell: CellText, text: Text, shift: int = 0) -> FileError:
    """A failure in a cell, or in what stands below its first ``shift`` lines, as one of the notebook."""
    last = len(_LINE_END.findall(cell.text)) + 1
    place = _offset(cell.text, Position(min(failure.line + shift, last), 1)) if failure.line else 0
    line, _ = text.position(cell.raw_span(place, place)[0])
    return FileError(
        failure.file,
        phrase("cell {number}: {message}", number=cell.cell.number, message=failure.message),
        line,
        failure.advice,
    )


def _commands(
    relative: str, cell: CellText, start: int, end: int, text: Text, job: Job
) -> tuple[list[Finding], list[LedgerEntry]]:
    """What the rules for shell scripts find in a command, or in a cell of them."""
    script = cell.text[start:end]
    result = job.analyse(relative, script, kind="shell")
    is_line = b"\n" not in script
    found = []
    for finding in result.findings:
        placed = _placed(finding, cell, start + _offset(script, finding.start), text)
        edits = [
            None if is_line and "\n" in edit.after else cell.edit(edit.start + start, edit.end + start, edit.after)
            for edit in finding.edits
        ]
        found.append(_edited(placed, finding, edits))
    ledger = [_entry_at(entry, cell, start + _offset(script, _start(entry)), text) for entry in result.ledger]
    return found, ledger


def _written_file(
    relative: str, cell: CellText, written: WrittenFile, text: Text, job: Job
) -> tuple[list[Finding], list[FileError], list[LedgerEntry]]:
    """What the rules find in a file that a cell writes: a file of its own, of the kind that its name tells."""
    name = posixpath.normpath(posixpath.join(posixpath.dirname(relative), written.name.replace("\\", "/")))
    kind = kind_of_path(name)
    body = cell.text[written.start :]
    # The import of torch_npu comes in a round of its own, as in other files; a part of a file has no place for it.
    again = job.is_later_round
    is_changed = again and not written.is_appended and _NPU.search(body) is not None
    seen, errors, _, accounted = job.analyse(
        name, body, needs_torch_npu=is_changed, whole=False, kind=kind, is_later_round=again
    )
    edits_stay = kind != "python" or job.run.plan.style == "npu"
    found = []
    for finding in seen:
        placed = _placed(finding, cell, written.start + _offset(body, finding.start), text)
        placed = msgspec.structs.replace(placed, file=relative, needs_torch_npu=False)
        if finding.edits and not edits_stay:
            advice = phrase("the cell writes {name}: migrate that file, and put it into the cell", name=written.name)
            found.append(msgspec.structs.replace(placed, advice=advice))
            continue
        edits = [cell.edit(edit.start + written.start, edit.end + written.start, edit.after) for edit in finding.edits]
        found.append(_edited(placed, finding, edits))
    problems = [_problem(error, cell, text, shift=_lines_above(cell.text, written.start)) for error in errors]
    ledger = [
        msgspec.structs.replace(
            _entry_at(entry, cell, written.start + _offset(body, _start(entry)), text), file=relative
        )
        for entry in accounted
    ]
    return found, [msgspec.structs.replace(problem, file=relative) for problem in problems], ledger


def _lines_above(cell: bytes, start: int) -> int:
    """How many lines stand above an offset."""
    return len(_LINE_END.findall(cell, 0, start))


def _environment(relative: str, cells: Sequence[_View], text: Text, job: Job) -> list[Finding]:
    """What becomes of the variables that ``%env`` sets or shows, all of them together."""
    settings: list[Setting] = []
    mentions: list[Mention] = []
    lines: list[tuple[int, CellText, int]] = []
    data = b""
    for view in cells:
        for start, end in view.masked.environment:
            line = view.text.text[start:end]
            match = _SETTING.match(line)
            if match is not None:
                at = len(data)
                lines.append((at, view.text, start))
                name, value = (match.group(key).decode("utf-8", "replace") for key in ("name", "value"))
                first, last = (at + offset for offset in match.span("name"))
                if value or match.group("sign"):
                    literal = None if re.search(r"[${]", value) else value
                    place = (at + match.start("value"), at + match.end("value"))
                    settings.append(Setting(name, first, last, literal, place))
                else:
                    mentions.append(Mention(name, first, last))
                data += line + b"\n"
    if not lines:
        return []
    file = TextFile(relative, "env", Text(data), job)
    judge_variables(settings, mentions, file)
    found = []
    for finding in file.findings:
        at, cell, start = next(line for line in reversed(lines) if line[0] <= _offset(data, finding.start))
        placed = _placed(finding, cell, start + _offset(data, finding.start) - at, text)
        edits = [cell.edit(edit.start - at + start, edit.end - at + start, edit.after) for edit in finding.edits]
        found.append(_edited(placed, finding, edits))
    return found
