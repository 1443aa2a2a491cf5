"""Statements and their lines: where one begins and ends, and edits that put lines beside it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from npuify.model import Edit
    from npuify.rules.context import PythonFile
if TYPE_CHECKING:
    from npuify.model import Edit
    from npuify.rules.context import PythonFile


def indentation(node: ast.stmt, file: PythonFile) -> str | None:
    """The blanks before a statement that stands first on its line, None for another."""
    before = file.source.segment(file.source.text.line_starts[node.lineno - 1], file.source.start(node))
    return before if not before.strip(" \t\f") else None


def ends_its_line(node: ast.stmt, file: PythonFile) -> bool:
    """Whether nothing but blanks and a comment follows a statement on its last line."""
    _, rest = _rest_of_line(node, file)
    return not rest.strip() or rest.lstrip().startswith("#")


def _rest_of_line(node: ast.stmt, file: PythonFile) -> tuple[int, str]:
    """The offset at which the line that follows begins, and the text from the statement's end to the line's."""
    starts = file.source.text.line_starts
    line = node.end_lineno or node.lineno
    following = starts[line] if line < len(starts) else len(file.source.data)
    return following, file.source.segment(file.source.end(node), following).rstrip("\r\n")


def line_after(node: ast.stmt, text: str, file: PythonFile) -> Edit | None:
    """Put ``text`` on a line of its own behind a statement, in its block; None where another follows on its line."""
    indent = indentation(node, file)
    if indent is None or not ends_its_line(node, file):
        return None
    following, _ = _rest_of_line(node, file)
    newline = file.source.text.newline
    if file.source.segment(following - 1, following) in ("\n", "\r"):
        return file.edit(following, following, f"{indent}{text}{newline}")
    return file.edit(following, following, f"{newline}{indent}{text}")


PRAGMAS: Final = ("# noqa", "# type:", "# pylint", "# isort")
"""How comments begin that speak to a linter only."""


def _is_about_place(comment: str) -> bool:
    """Whether a comment tells a linter to accept where a statement stands, or its type."""
    return comment.startswith(("# type:", "# pylint", "# isort")) and "unused" not in comment


def without_line(node: ast.stmt, file: PythonFile, *, with_pragma: bool = False) -> Edit | None:
    """Take a statement out with its line; None where something else, or a comment, stands on it.

    Args:
        with_pragma: what tells a linter to be quiet about the statement goes with it, unless it says that nothing
            uses what is imported.
    """
    blanks = indentation(node, file)
    following, rest = _rest_of_line(node, file)
    rest = rest.strip()
    if blanks is None or (rest and not (with_pragma and _is_about_place(rest))):
        return None
    return file.edit(file.source.start(node) - len(blanks), following, "")


def put_import(statement: str, tree: ast.Module, before: int, file: PythonFile, *, alone: bool = False) -> Edit:
    """An edit that puts ``statement`` behind the last import at the top of a module that ends above a line.

    Where no import stands above that line, the statement goes behind the docstring. ``alone``: with a blank line
    before it, as what is no import stands.
    """
    after: ast.stmt | None = None
    for item in tree.body:
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            break
        if (item.end_lineno or item.lineno) >= before:
            break
        if isinstance(item, (ast.Import, ast.ImportFrom)) or (after is None and _is_docstring(item)):
            after = item
    newline = file.source.text.newline
    starts = file.source.text.line_starts
    if after is None:
        line = 1
        while line <= len(starts) and file.source.data[starts[line - 1] :].startswith(b"#") and line < before:
            line += 1
        return file.edit(starts[line - 1], starts[line - 1], statement + newline)
    line = after.end_lineno or after.lineno
    end = starts[line] if line < len(starts) else len(file.source.data)
    if file.source.data[file.source.end(after) : end].lstrip(b" \t").startswith(b";"):
        place = file.source.end(after)
        return file.edit(place, place, f"; {statement}")
    if line >= len(starts):
        return file.edit(end, end, newline + statement)
    blank = newline if alone or _is_docstring(after) or not _is_local(after, file) else ""
    behind = file.source.data[end : end + 1]
    return file.edit(end, end, blank + statement + newline + (newline if blank and behind.strip() else ""))


def _is_local(item: ast.stmt, file: PythonFile) -> bool:
    """Whether an import is one of the project's own modules, which stand apart from the others."""
    if isinstance(item, ast.ImportFrom):
        return bool(item.level) or file.project.file_of((item.module or "").partition(".")[0]) is not None
    names = item.names if isinstance(item, ast.Import) else []
    return any(alias.name.partition(".")[0] in file.project.packages for alias in names)


def _is_docstring(item: ast.stmt) -> bool:
    return isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant) and isinstance(item.value.value, str)


def needs_parentheses(node: ast.AST, file: PythonFile) -> bool:
    """Whether a comparison in place of ``node`` has to be put into parentheses."""
    parent = file.parent(node)
    if isinstance(parent, (ast.If, ast.While, ast.Assert, ast.BoolOp, ast.Return, ast.Assign, ast.AnnAssign)):
        return False
    if isinstance(parent, ast.Call):
        return parent.func is node
    if isinstance(parent, ast.UnaryOp):
        return not isinstance(parent.op, ast.Not)
    return not isinstance(parent, (ast.IfExp, ast.keyword, ast.NamedExpr))
