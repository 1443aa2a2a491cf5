"""Questions that the rules about training ask of statements, loops and calls."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.source.python import dotted_text, walk
from npuify.source.python.children import CHILD_FIELDS, plain_children

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile

DOCUMENTATION = "PyTorch's documentation"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
SCOPES = (*FUNCTIONS, ast.Lambda)


def enclosing_function(node: ast.AST, file: PythonFile) -> ast.AST:
    """The nearest function around a node, or the module."""
    return next((up for up in file.ancestors(node) if isinstance(up, FUNCTIONS)), file.source.tree)


def nodes_in(loop: ast.AST, file: PythonFile) -> list[ast.AST]:
    """A loop and all that it holds, kept for other rules: several ask about each."""
    known: list[ast.AST] | None = file.recall(("nodes in", loop))
    if known is None:
        known = file.remember(("nodes in", loop), walk(loop))
    return known


def calls_in(loop: ast.AST, file: PythonFile) -> list[ast.Call]:
    """The calls in a loop."""
    return [item for item in nodes_in(loop, file) if isinstance(item, ast.Call)]


def named_calls(node: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """The calls in a node, with their last names, in no certain order."""
    for item in walk(node):
        if isinstance(item, ast.Call):
            if isinstance(item.func, ast.Attribute):
                yield item.func.attr, item
            elif isinstance(item.func, ast.Name):
                yield item.func.id, item


def block_of(node: ast.AST, file: PythonFile) -> tuple[list[ast.stmt], ast.stmt | None, ast.AST | None]:
    """The list of statements that a node's statement stands in, that statement, and what holds the list."""
    current: ast.AST = node
    for up in file.ancestors(node):
        if isinstance(current, ast.stmt):
            for field in ("body", "orelse", "finalbody"):
                statements = getattr(up, field, None)
                if isinstance(statements, list) and current in statements:
                    return statements, current, up
        current = up
    return [], None, None


def first_time(code: str, file: PythonFile) -> bool:
    """Whether a rule reports for the first time in a file."""
    if file.recall(code):
        return False
    file.remember(code, True)
    return True


def receiver(call: ast.Call) -> str:
    """What a method is called on, as dotted text in lower case; empty where that is no plain name."""
    return (dotted_text(call.func.value) or "").lower() if isinstance(call.func, ast.Attribute) else ""


def is_step(call: ast.Call) -> bool:
    """Whether a call is the step of an optimiser, or of a scaler for one."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "step":
        return False
    name = receiver(call).rpartition(".")[2]
    if "scaler" in name and len(call.args) == 1:
        name = (dotted_text(call.args[0]) or "").lower().rpartition(".")[2]
    elif call.args:
        return False
    return ("optim" in name or name == "opt") and "sched" not in name


def enclosing(node: ast.AST, loop: ast.AST, file: PythonFile) -> list[ast.AST]:
    """What is around a node inside a loop, the innermost first; empty where it does not stand there.

    The file's own record of parents holds only lines that are of interest to a rule.
    """
    parents: dict[ast.AST, ast.AST] | None = file.recall(("parents", loop))
    if parents is None:
        parents = {
            child: item for item in nodes_in(loop, file) for child in plain_children(item, CHILD_FIELDS[item.__class__])
        }
        file.remember(("parents", loop), parents)
    chain = []
    current = parents.get(node)
    while current is not None and current is not loop:
        chain.append(current)
        current = parents.get(current)
    return chain


def is_backward(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "backward"


def is_conditional(call: ast.Call, loop: ast.AST, file: PythonFile) -> bool:
    """Whether a call does not run exactly once in each round of a loop."""
    return any(isinstance(up, (ast.If, ast.IfExp, ast.Try, *LOOPS, *SCOPES)) for up in enclosing(call, loop, file))
