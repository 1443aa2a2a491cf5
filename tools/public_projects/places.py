"""Whether what is reported of a program names the place where it does otherwise than before."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Place = tuple[str, int]

_HOPS = 3
_WITH_GROUP = frozenset(("DistributedDataParallel", "all_reduce", "broadcast", "barrier", "get_backend"))
"""What works with the group of processes, to which no name leads."""
_WITHOUT_NAME = ("init_process_group", "set_default_device", "set_default_tensor_type")
"""What makes a state that later statements depend on, though they don't name it."""
_MAKERS = frozenset("tensor ones zeros empty full rand randn arange linspace eye as_tensor Linear".split())
"""What makes tensors on the device that is the default."""


def is_named(places: Iterable[Place], files: Mapping[str, str], found: set[Place]) -> bool:
    """Whether a finding stands at one of these places, or at one that a name used there comes from.

    Args:
        places: files and lines: the traceback, or the statement that prints what is different.
        files: the text of each file of the program.
        found: where findings stand.
    """
    if not found:
        return False
    modules = {name: _parsed(text) for name, text in files.items() if name.endswith(".py")}
    lines = {(file, line) for file, at in places if file in modules for line in _statement(modules[file], at)}
    for _ in range(_HOPS):
        if lines & found:
            return True
        names, texts = _said(lines, modules)
        if any(file.rpartition("/")[2] in text for file, _ in found for text in texts):  # settings.json
            return True
        names |= {text for text in texts if text.isidentifier()}  # globals()["DEVICE"]
        if names & _WITH_GROUP:
            names.add("init_process_group")
        if names & _MAKERS:
            names.update(_WITHOUT_NAME[1:])
        lines |= {(file, line) for file, tree in modules.items() for line in _bound(tree, names)}
    return bool(lines & found)


def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def _statement(tree: ast.Module, line: int) -> set[int]:
    """The lines of the smallest statement at a line, and of the heads of those around it."""
    around = [
        node for node in ast.walk(tree) if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    found: set[int] = {line}
    for node in around:
        body = getattr(node, "body", None)
        last = body[0].lineno - 1 if isinstance(body, list) else node.end_lineno or node.lineno
        found.update(range(node.lineno, max(last, node.lineno) + 1))
    return found


def _said(lines: set[Place], modules: Mapping[str, ast.Module]) -> tuple[set[str], set[str]]:
    names, texts = set(), set()
    for file, tree in modules.items():
        for node in ast.walk(tree):
            if (file, getattr(node, "lineno", 0)) not in lines:
                continue
            if isinstance(node, ast.Name):
                names.add(node.id)
            elif isinstance(node, ast.Attribute):
                names.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add(node.value)
    return names - {"torch", "th", "device", "cuda", "to", "self", "cls"}, texts


def _bound(tree: ast.Module, names: set[str]) -> set[int]:
    """The lines of statements that bind one of these names: all of a function or class."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            if node.name in names or node.name == "__getattr__":  # which may say any
                found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            if any((alias.asname or alias.name) in names for alias in node.names):
                found.add(node.lineno)
        elif (isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Store)) or (
            isinstance(node, (ast.Assign, ast.Expr)) and (_changes(node) in names or _called(node) in names)
        ):
            found.add(node.lineno)
    return found


def _called(node: ast.Assign | ast.Expr) -> str:
    """What a statement calls that makes a state without a name: ``dist.init_process_group(…)``."""
    function = node.value.func if isinstance(node.value, ast.Call) else None
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name if name in _WITHOUT_NAME else ""


def _changes(node: ast.Assign | ast.Expr) -> str:
    """The name of what a statement changes: ``settings["device"] = …``, ``settings.read(…)``, ``self.loss = …``."""
    inner: ast.AST = node.targets[0] if isinstance(node, ast.Assign) else node.value
    if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name) and inner.value.id == "self":
        return inner.attr
    while isinstance(inner, (ast.Attribute, ast.Subscript, ast.Call)):
        inner = inner.func if isinstance(inner, ast.Call) else inner.value
    return inner.id if isinstance(inner, ast.Name) else ""
