"""What imports and the functions around them say, by their nodes alone."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile

_WORD: Final = re.compile(rb"[A-Za-z_]\w*")
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


def is_only_for_types(node: ast.AST, file: PythonFile) -> bool:
    """Whether a statement is for those who check types, and never runs."""
    current = node
    for up in file.ancestors(node):
        if isinstance(up, ast.If) and current in up.body and last_name(up.test) == "TYPE_CHECKING":
            return True
        current = up
    return False


def function_around(node: ast.AST, file: PythonFile) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The plain function of the module in which a node stands.

    A method may be called by a framework that no text names, and a decorator may hand a function to anybody.
    """
    outermost = None
    for up in file.ancestors(node):
        if isinstance(up, ast.ClassDef):
            return None
        if isinstance(up, _FUNCTIONS):
            outermost = up
    return outermost if outermost is not None and not outermost.decorator_list else None


def names_of(
    function: ast.FunctionDef | ast.AsyncFunctionDef, file: PythonFile
) -> tuple[frozenset[bytes], frozenset[bytes]]:
    """The names of a function and of the tables that hold it, and all words of the file around these."""
    names = {function.name}
    spans = [(file.source.start(function), file.source.end(function))]
    for node in file.source.tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Dict, ast.List, ast.Tuple)):
            held = any(isinstance(one, ast.Name) and one.id == function.name for one in ast.walk(node.value))
            if held and isinstance(node.targets[0], ast.Name):
                names.add(node.targets[0].id)
                spans.append((file.source.start(node), file.source.end(node)))
    words: set[bytes] = set()
    begin = 0
    for start, end in [*sorted(spans), (len(file.source.data), 0)]:
        words.update(_WORD.findall(file.source.data[begin:start]))
        begin = end
    return frozenset(name.encode() for name in names), frozenset(words)


def last_name(node: ast.expr) -> str:
    """The name, or the last part of a dotted one; empty of other expressions."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def beginning_of(node: ast.expr) -> str:
    """The text with which a string begins that is put together."""
    if isinstance(node, ast.JoinedStr) and node.values:
        node = node.values[0]
    while isinstance(node, ast.BinOp):
        node = node.left
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        node = node.func.value
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
    return re.split(r"[{%]", text, maxsplit=1)[0]
