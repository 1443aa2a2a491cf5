"""The same program written otherwise: parentheses around expressions, some of them over several lines, with comments."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

_PLAIN = (ast.Name, ast.Attribute, ast.Call, ast.Constant, ast.Compare, ast.BinOp, ast.Subscript, ast.IfExp, ast.BoolOp)
_LONG = (ast.Call, ast.Compare, ast.BinOp, ast.IfExp, ast.BoolOp)
"""What gets lines of its own, unless something is called or taken of it."""
_SHARE = 0.12
"""How many of the expressions get parentheses."""


def disguised(text: str, chance: random.Random) -> str:
    """The same statements, with parentheses around some expressions."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return text  # quotes within those of an f-string, which Python takes since 3.12
    lines = text.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    put: list[tuple[int, int, bytes]] = []
    nodes = list(ast.walk(tree))
    called = {node.func for node in nodes if isinstance(node, ast.Call)}
    called |= {node.value for node in nodes if isinstance(node, (ast.Attribute, ast.Subscript))}
    for node in _expressions(tree):
        if chance.random() >= _SHARE or node.end_lineno != node.lineno:
            continue
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.lineno - 1] + (node.end_col_offset or 0)
        inner, outer = chance.choice(((b"(", b")"), (b"(", b")"), (b"( ", b" )")))
        if isinstance(node, _LONG) and node not in called:
            inner, outer = chance.choice(((b"(", b")"), (b"(\n    ", b"\n)"), (b"(  # it is\n    ", b"\n)")))
        put += [(begin, -end, inner), (end, 0, outer)]
    raw = bytearray(text.encode())
    # From the end on; of several at one place, what closes stands before what opens, and the outer opens first.
    for at, _, piece in sorted(put, key=lambda one: (one[0], one[1] != 0, one[1]), reverse=True):
        raw[at:at] = piece
    made = raw.decode()
    ast.parse(made)
    return made


def _expressions(tree: ast.AST) -> list[ast.expr]:
    """Those that parentheses may stand around."""
    found: list[ast.expr] = []
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        if isinstance(node, (ast.JoinedStr, ast.match_case, ast.arguments)):
            continue  # positions within are those of no text, or nothing may stand there
        for _, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    left.append(child)
                    if isinstance(child, _PLAIN) and isinstance(getattr(child, "ctx", ast.Load()), ast.Load):
                        found.append(child)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found = [one for one in found if one is not node.value]  # a docstring
    return found
