"""The source of a rewritten call of attention: small questions about expressions, and the layout of the new call."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from npuify.rules.context import PythonFile

_LINE_LENGTH = 100


def joined(operator: str, arguments: Iterable[str], behind: str) -> str:
    return f"{operator}({', '.join(arguments)})[0]{behind}"


def laid_out(operator: str, arguments: list[str], behind: str, call: ast.Call, file: PythonFile) -> str:
    """The call on one line where it fits, else with one argument a line."""
    line = file.source.text.line_starts[call.lineno - 1]
    before = file.source.segment(line, file.source.start(call))
    text = joined(operator, arguments, behind)
    if len(before) + len(text) <= _LINE_LENGTH and not {"\n", "\r"}.intersection(text):
        return text
    newline = file.source.text.newline
    indent = before[: len(before) - len(before.lstrip(" \t"))]
    inner = "".join(f"{indent}    {argument},{newline}" for argument in arguments)
    return f"{operator}({newline}{inner}{indent})[0]{behind}"


def triangle(shaped: str) -> str:
    return f"{shaped}.new_ones(2048, 2048).triu(1).bool()"


def is_off(node: ast.expr) -> bool:
    """None, False or 0: the feature is not used."""
    return isinstance(node, ast.Constant) and (node.value is None or node.value == 0)


def is_primary(node: ast.expr) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant))


def primary(node: ast.expr, text: str) -> str:
    """``text`` with parentheses where an attribute or subscript behind it would bind to a part only."""
    return text if is_primary(node) else f"({text})"


def is_repeatable(node: ast.expr) -> bool:
    """Whether an expression may stand twice: a name, attributes of it, and slices with constants."""
    while True:
        if isinstance(node, ast.Subscript):
            parts = ast.walk(node.slice)
            allowed = (ast.Constant, ast.Slice, ast.Tuple, ast.UnaryOp, ast.USub, ast.Load)
            if not all(isinstance(part, allowed) for part in parts):
                return False
            node = node.value
        elif isinstance(node, ast.Attribute):
            node = node.value
        else:
            return isinstance(node, ast.Name)
