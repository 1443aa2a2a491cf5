"""What the program model knows at a place, for people to read: ``npuify explain FILE:LINE[:COLUMN]``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.analysis.files import DEFINITIONS
from npuify.analysis.flow.uses import uses_of
from npuify.analysis.values import STRINGS, UNKNOWN, Kind, describe
from npuify.language import ENGLISH, mark, phrase, spoken, told

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

    Args:
        line: from 1.
        column: from 1, as editors count, in characters.
    """
    file = model.file(relative)
    if file is None:
        return []
    nodes: list[ast.expr] = []

    def collect(node: ast.AST) -> None:
        if isinstance(node, ast.expr) and _begins_on(node, line) and not _is_said_by_another(node, file):
            nodes.append(node)

    file.source.visit([line], collect)
    if column is not None:
        offset = _offset(file, line, column)
        nodes = [node for node in nodes if _covers(node, line, offset)]
        nodes = nodes[-2:]
    return [_row(node, file, model) for node in nodes[:_MOST_ROWS]]


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
    for row in rows:
        lines.append(f"{row.place}: {row.code}")
        for one in row.values:
            lines += ["  " + phrase("is {value}", value=one.value), *(f"      {step}" for step in one.steps)]
        for one in row.uses:
            lines += ["  " + phrase("goes to {value}", value=one.value), *(f"      {step}" for step in one.steps)]
    return "\n".join(lines) + "\n"


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
    place = file.place(node)
    column = len(file.source.segment(file.source.start(node) - place.column, file.source.start(node))) + 1
    return Row(f"{place.file}:{place.line}:{column}", file.code(node), found[:_MOST_VALUES], uses[:_MOST_VALUES])


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


def _begins_on(node: ast.expr, line: int) -> bool:
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


def _covers(node: ast.expr, line: int, offset: int) -> bool:
    begins = (node.lineno, node.col_offset) <= (line, offset)
    return begins and (line, offset) < (node.end_lineno or line, node.end_col_offset or 0)
