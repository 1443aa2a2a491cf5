"""Branches that a portable program takes by the kind of its device, and what they guard."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.rules.common.edits.statements import ends_its_line, indentation
from npuify.rules.common.helper_branches import helper
from npuify.rules.common.packages.import_guards import has_fallback

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from npuify.model import Edit
    from npuify.rules.context import PythonFile

_LINE_LENGTH = 100


def choice(npu: str, node: ast.expr, file: PythonFile) -> str:
    """An expression that is ``npu`` on an NPU, and ``node`` as it was elsewhere."""
    test, other = f'{helper(file)}.type == "npu"', file.code(node)
    text = f"{npu} if {test} else {other}"
    line = file.source.text.line_starts[node.lineno - 1]
    before = file.source.segment(line, file.source.start(node))
    if "\n" not in text and "\r" not in text and len(before) + len(text) + 2 <= _LINE_LENGTH:
        return text if _stands_alone(node, file) else f"({text})"
    newline = file.source.text.newline
    indent = before[: len(before) - len(before.lstrip(" \t"))]
    deeper = f"{indent}    "
    npu, other = (part.replace(newline, f"{newline}    ") for part in (npu, other))
    return f"({newline}{deeper}{npu}{newline}{deeper}if {test}{newline}{deeper}else {other}{newline}{indent})"


def _stands_alone(node: ast.expr, file: PythonFile) -> bool:
    """Whether a conditional expression may take the place of ``node`` without parentheses."""
    parent = file.parent(node)
    if isinstance(parent, ast.Call):
        return parent.func is not node
    return isinstance(parent, (ast.Assign, ast.AnnAssign, ast.Return, ast.keyword, ast.Expr))


def branch(npu: Sequence[str], statement: ast.stmt, file: PythonFile) -> Edit | None:
    """An edit by which a statement runs where there is no NPU, and other statements where there is one.

    None where the statement shares a line with another, or holds a text of several lines.
    """
    indent = indentation(statement, file)
    if indent is None or not ends_its_line(statement, file) or in_several_lines_of_text(statement):
        return None
    deeper = "\t" if "\t" in indent else "    "
    newline = file.source.text.newline
    kept = re.sub(r"(\r\n|\n|\r)(?=[^\r\n])", rf"\g<1>{deeper}", file.code(statement))
    if not npu:
        lines = [f'if {helper(file)}.type != "npu":', f"{deeper}{kept}"]
    else:
        lines = [f'if {helper(file)}.type == "npu":', *(deeper + line for line in npu), "else:", f"{deeper}{kept}"]
    return file.replace(statement, (newline + indent).join(lines))


def edited(node: ast.AST, edits: Iterable[Edit], file: PythonFile) -> str:
    """The source of ``node`` with edits that lie in it."""
    start = file.source.start(node)
    data = file.source.data[start : file.source.end(node)]
    for edit in sorted(edits, reverse=True):
        data = data[: edit.start - start] + edit.after.encode() + data[edit.end - start :]
    return data.decode("utf-8", "surrogatepass")


def in_several_lines_of_text(node: ast.AST) -> bool:
    """Whether a string of ``node`` goes over several lines, so that no blanks may be put before them."""
    return any(
        isinstance(item, (ast.Constant, ast.JoinedStr)) and item.lineno != item.end_lineno for item in ast.walk(node)
    )


def has_own_way_without(function: ast.expr, file: PythonFile) -> bool:
    """Whether the program goes on where the import of what it calls fails, as it does on Ascend."""
    while isinstance(function, ast.Attribute):
        function = function.value
    name = function.id if isinstance(function, ast.Name) else ""
    return any(
        isinstance(item, (ast.Import, ast.ImportFrom))
        and any((alias.asname or alias.name.partition(".")[0]) == name for alias in item.names)
        and has_fallback(item, file)
        for item in file.nodes_on_lines_with(name)
    )
