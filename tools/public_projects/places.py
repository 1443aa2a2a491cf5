"""Whether what is reported of a program names the place where it does otherwise than before."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

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
    return bool(found) and how_far(places, files, {"": found}).get("") is not None


def how_far(places: Iterable[Place], files: Mapping[str, str], found: Mapping[str, set[Place]]) -> dict[str, int]:
    """By how many names places are away from each of several sets of findings; those to which none leads are left out.

    Args:
        places: files and lines: the traceback, or the statement that prints what is different.
        files: the text of each file of the program.
        found: where findings stand, under any names.
    """
    modules = {name: _Module(text) for name, text in files.items() if name.endswith(".py")}
    lines = {(file, line) for file, at in places if file in modules for line in modules[file].statement(at)}
    away: dict[str, int] = {}
    for hop in range(_HOPS + 1):
        away.update({name: hop for name, here in found.items() if name not in away and lines & here})
        if len(away) == len(found) or hop == _HOPS:
            break
        names, texts = _said(lines, modules)
        for name, here in found.items():  # settings.json
            if name not in away and any(file.rpartition("/")[2] in text for file, _ in here for text in texts):
                away[name] = hop + 1
        names |= {text for text in texts if text.isidentifier()}  # globals()["DEVICE"]
        if names & _WITH_GROUP:
            names.add("init_process_group")
        if names & _MAKERS:
            names.update(_WITHOUT_NAME[1:])
        bound = {(file, line) for file, module in modules.items() for line in _bound(module, names)}
        # What is bound in a branch depends on its condition.
        lines |= bound | {(file, line) for file, at in bound for line in modules[file].statement(at)}
    return away


class _Module:
    """A module, with its nodes as they are asked for again and again."""

    def __init__(self, text: str) -> None:
        nodes = list(ast.walk(ast.parse(text)))
        self._statements = [node for node in nodes if isinstance(node, ast.stmt)]
        self.names: list[tuple[int, str]] = []
        """Each name and attribute that is used or bound, with its line."""
        self.texts: list[tuple[int, str]] = []
        self.binding: list[_Binding] = []
        for node in nodes:
            if isinstance(node, (ast.Name, ast.Attribute)):
                self.names.append((node.lineno, node.id if isinstance(node, ast.Name) else node.attr))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                self.texts.append((node.lineno, node.value))
            made = _made_by(node)
            if made is not None:
                self.binding.append(made)

    def statement(self, line: int) -> set[int]:
        """The lines of the smallest statement at a line, and of the heads of those around it."""
        found: set[int] = {line}
        for node in self._statements:
            if node.lineno <= line <= (node.end_lineno or 0):
                body = getattr(node, "body", None)
                last = body[0].lineno - 1 if isinstance(body, list) else node.end_lineno or node.lineno
                found.update(range(node.lineno, max(last, node.lineno) + 1))
        return found


class _Binding(NamedTuple):
    """The names that a statement binds or changes, and its lines."""

    names: frozenset[str]
    first: int
    last: int


def _said(lines: set[Place], modules: Mapping[str, _Module]) -> tuple[set[str], set[str]]:
    names, texts = set(), set()
    for file, module in modules.items():
        names.update(name for line, name in module.names if (file, line) in lines)
        texts.update(text for line, text in module.texts if (file, line) in lines)
    return names - {"torch", "th", "device", "cuda", "to", "self", "cls"}, texts


def _bound(module: _Module, names: set[str]) -> set[int]:
    """The lines of statements that bind one of these names: all of a function or class."""
    found: set[int] = set()
    for made in module.binding:
        if not made.names.isdisjoint(names) or "__getattr__" in made.names:  # which may say any
            found.update(range(made.first, made.last + 1))
    return found


def _made_by(node: ast.AST) -> _Binding | None:
    """What a node binds or changes."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return _Binding(frozenset((node.name,)), node.lineno, node.end_lineno or node.lineno)
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        names = frozenset(alias.asname or alias.name for alias in node.names)
        return _Binding(names, node.lineno, node.lineno)
    if isinstance(node, ast.Name):
        stored = isinstance(node.ctx, ast.Store)
        return _Binding(frozenset((node.id,)), node.lineno, node.lineno) if stored else None
    if isinstance(node, (ast.Assign, ast.Expr)):
        names = frozenset((_changes(node), _called(node))) - {""}
        return _Binding(names, node.lineno, node.end_lineno or node.lineno)
    return None


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
