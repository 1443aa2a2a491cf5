"""What the program model knows at a place, for people to read: ``npuify explain FILE:LINE[:COLUMN]``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.analysis.bindings import imported
from npuify.analysis.files import DEFINITIONS
from npuify.analysis.flow.uses import uses_of
from npuify.analysis.values import STRINGS, UNKNOWN, Kind, describe
from npuify.language import ENGLISH, mark, phrase, spoken, told
from npuify.source.python.scopes import absolute_module

if TYPE_CHECKING:
    from collections.abc import Iterable

    from npuify.analysis.files import FileModel
    from npuify.analysis.flow.destinations import Destination
    from npuify.analysis.model import ProgramModel
    from npuify.analysis.values import Step

_MOST_ROWS = 12
_MOST_VALUES = 8
_SHORT_STEPS: Final = (mark("written here"), mark("made here"), mark("called here"), mark("caught here"))
"""What steps say in two words, which nothing else tells from names."""


class Known(NamedTuple):
    """One thing that an expression may stand for, with the steps that show why."""

    value: str
    steps: list[str]


class Row(NamedTuple):
    """What is known of one expression."""

    place: str
    code: str
    values: list[Known]
    uses: list[Known]
    """For strings, what they are used for."""


def explain_place(model: ProgramModel, relative: str, line: int, column: int | None = None) -> list[Row]:
    """What is known of the expressions of a line, the outer ones first; with a column, of those that cover it.

    Of an import it is what the names stand for that it brings.

    Args:
        line: from 1.
        column: from 1, as editors count, in characters.
    """
    file = model.file(relative)
    if file is None:
        return []
    nodes: list[ast.expr] = []
    imports: list[ast.Import | ast.ImportFrom] = []

    def collect(node: ast.AST) -> None:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            imports.append(node)
        if isinstance(node, ast.expr) and _begins_on(node, line) and not _is_said_by_another(node, file):
            nodes.append(node)

    file.source.visit([line], collect)
    if column is not None:
        offset = _offset(file, line, column)
        nodes = [node for node in nodes if _covers(node, line, offset)]
        nodes = nodes[-2:]
    rows = [_row(node, file, model) for node in nodes]
    for statement in imports:
        for alias in statement.names:
            if alias.name == "*":
                continue
            if _begins_on(alias, line) and (column is None or _covers(alias, line, _offset(file, line, column))):
                rows.append(_import_row(statement, alias, file, model))
    return rows[:_MOST_ROWS]


def explain_text(model: ProgramModel, relative: str, line: int, column: int | None = None) -> str:
    """:func:`explain_place` as text."""
    rows = explain_place(model, relative, line, column)
    return (
        render(rows)
        if rows
        else phrase("{relative}:{line}: there is no expression here\n", relative=relative, line=line)
    )


def render(rows: Iterable[Row]) -> str:
    """What :func:`explain_place` found, as text."""
    lines = []
    causes: set[str] = set()
    for row in rows:
        cause = _cause_of_unknown(row)
        if cause is not None and cause in causes:
            lines.append(f"{row.place}: {row.code}  " + phrase("(unknown, for the same cause)"))
            continue
        if cause is not None:
            causes.add(cause)
        lines.append(f"{row.place}: {row.code}")
        for one in row.values:
            lines += ["  " + phrase("is {value}", value=one.value), *(f"      {step}" for step in one.steps)]
        for one in row.uses:
            lines += ["  " + phrase("goes to {value}", value=one.value), *(f"      {step}" for step in one.steps)]
    return "\n".join(lines) + "\n"


def _cause_of_unknown(row: Row) -> str | None:
    """The first step of an expression of which nothing else is known or told; empty where no step is."""
    if len(row.values) != 1 or row.uses or row.values[0].value != describe(UNKNOWN):
        return None
    return next(iter(row.values[0].steps), "")


def _row(node: ast.expr, file: FileModel, model: ProgramModel) -> Row:
    values = model.values(node, file)
    found = [Known(describe(value), list(map(_said, values.why(value)))) for value in values]
    if not found:
        found = [Known(describe(UNKNOWN), [phrase("it leads back to itself")])]
    uses: list[Known] = []
    if isinstance(node, (ast.Constant, ast.JoinedStr)) and values.kinds <= STRINGS:
        whole = uses_of(node, file, model)
        uses = [_used(one) for one in whole.destinations]
        if not whole.destinations:
            uses = [Known(phrase(Kind.UNKNOWN.value), [])]
    return Row(_where(node, file), file.code(node), found[:_MOST_VALUES], uses[:_MOST_VALUES])


def _import_row(statement: ast.Import | ast.ImportFrom, alias: ast.alias, file: FileModel, model: ProgramModel) -> Row:
    if isinstance(statement, ast.Import):
        target = alias.name
    else:
        module = absolute_module(statement, file.source.module, file.source.relative.endswith("__init__.py"))
        target = f"{module}.{alias.name}" if module else alias.name
    name = alias.asname or alias.name
    # The project's own module of that name: a relative import never reaches a library.
    own = bool(getattr(statement, "level", 0))
    values = imported(f".{target}" if own else target, file, model).through(
        file.place(alias), phrase("imported as {name}", name=name)
    )
    found = [Known(describe(value), list(map(_said, values.why(value)))) for value in values]
    return Row(_where(alias, file), name, found[:_MOST_VALUES], [])


def _where(node: ast.expr | ast.alias, file: FileModel) -> str:
    """``FILE:LINE:COLUMN``, the column as editors count."""
    place = file.place(node)
    start = file.source.start(node)
    return f"{place.file}:{place.line}:{len(file.source.segment(start - place.column, start)) + 1}"


def _used(one: Destination) -> Known:
    use, what = phrase(one.use.value), told(one.what)
    said = (
        phrase("{use}: {what}", use=use, what=what)
        if one.sure
        else phrase("{use}: {what}, by its name", use=use, what=what)
    )
    return Known(said, [*map(_said, one.steps[1:]), f"{one.place}: {what}"])


def _said(step: Step) -> str:
    text = step.text
    if spoken() != ENGLISH and " is " in text:
        # Bindings say this all the time, far too often to look it up there.
        name, _, what = text.partition(" is ")
        text = phrase("{name} is {what}", name=name, what=what)
    return f"{step.place}: {told(text)}"


def _begins_on(node: ast.expr | ast.alias, line: int) -> bool:
    return node.lineno == line


def _is_said_by_another(node: ast.expr, file: FileModel) -> bool:
    """Whether an expression says nothing that the one around it does not say: a target, an annotation, a part of a
    dotted name."""
    if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
        return False
    parent = file.source.parents.get(node)
    if isinstance(parent, ast.arg) or (isinstance(parent, DEFINITIONS) and node is parent.returns):
        return True
    return isinstance(parent, (ast.Expr, ast.JoinedStr)) and isinstance(node, ast.Constant)


def _offset(file: FileModel, line: int, column: int) -> int:
    """The offset in UTF-8 of a column that is counted in characters."""
    starts = file.source.text.line_starts
    end = starts[line] if line < len(starts) else len(file.source.data)
    text = file.source.segment(starts[line - 1], end) if line <= len(starts) else ""
    return len(text[: column - 1].encode())


def _covers(node: ast.expr | ast.alias, line: int, offset: int) -> bool:
    begins = (node.lineno, node.col_offset) <= (line, offset)
    return begins and (line, offset) < (node.end_lineno or line, node.end_col_offset or 0)
