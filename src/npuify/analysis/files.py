"""One file as the program model sees it: its nodes by place, where names stand, and what was found out about it."""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from npuify.analysis.values import Place
from npuify.source.python.children import CHILD_FIELDS, plain_children

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from npuify.analysis.values import Values
    from npuify.source.python import PythonSource
    from npuify.source.python.scopes import Binding, Scope

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_CLOSED = (*FUNCTIONS, ast.ClassDef)
SEARCHED = "?"
"""Stands, among the files that an answer depends on, for what searches of all files' texts have said."""
_GLOBAL = re.compile(rb"\bglobal[ \t]+([\w \t,]+)")


class Answer(NamedTuple):
    """What was found out, and which other files were looked at for it."""

    values: Values
    files: frozenset[str]


class FileModel:
    """One file.

    It holds the source and all that is remembered of it, and nothing that holds it back: with the garbage collector
    off, as in a scan, a ring would keep the trees of all files alive.
    """

    def __init__(self, source: PythonSource) -> None:
        self.source = source
        self.relative = source.relative
        self.answers: dict[object, dict[Any, Answer]] = {}
        """By the sort of model that was asked, mostly how far it reaches, what was answered."""
        self._by_place: dict[Place, ast.AST] = {}
        self._classes: dict[ast.ClassDef, Place] = {}
        """Where classes stood when they were first seen: those whose last methods were passed over grow."""
        self._looked_into: set[ast.AST] = set()
        self._references: dict[str, list[ast.AST]] = {}

    # --- nodes and places ---

    def see(self, node: ast.AST) -> None:
        """Learn the parents and scopes of a node and of what is around it, which are known of few at first."""
        source = self.source
        if node in source.parents or node is source.tree:
            return
        for item in ast.walk(node):
            line: int | None = getattr(item, "lineno", None)
            if line is not None:
                last = getattr(node, "end_lineno", None) or item.end_lineno or line  # type: ignore[attr-defined]
                source.visit(range(line, last + 1), _nothing)
                return

    def look_into(self, node: ast.AST) -> None:
        """Learn the parents and scopes of all that stands inside a function or class."""
        if node not in self._looked_into:
            self._looked_into.add(node)
            line, last = node.lineno, node.end_lineno  # type: ignore[attr-defined]
            self.source.visit(range(line, last + 1), _nothing)

    def scope(self, node: ast.AST) -> Scope:
        """The scope in which a node is evaluated."""
        self.see(node)
        return self.source.scope_of(node)

    def parent(self, node: ast.AST) -> ast.AST | None:
        self.see(node)
        return self.source.parents.get(node)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        self.see(node)
        return self.source.ancestors(node)

    def place(self, node: ast.AST) -> Place:
        """Where a node stands; nodes without a place of their own count as the file's beginning."""
        line = getattr(node, "lineno", None)
        if line is None:
            return Place(self.relative, 1, 0, 1, 0)
        place = Place(
            self.relative,
            line,
            node.col_offset,  # type: ignore[attr-defined]
            node.end_lineno or line,  # type: ignore[attr-defined]
            node.end_col_offset or 0,  # type: ignore[attr-defined]
        )
        if isinstance(node, ast.ClassDef):
            place = self._classes.setdefault(node, place)
        if isinstance(node, (ast.expr, *DEFINITIONS, ast.ClassDef)):
            self._by_place.setdefault(place, node)
        return place

    def node_at(self, place: Place) -> ast.AST | None:
        """The expression, function or class that stands at a place of this file."""
        if place not in self._by_place:

            def collect(node: ast.AST) -> None:
                if isinstance(node, (ast.expr, *DEFINITIONS, ast.ClassDef)):
                    self.place(node)

            self.source.visit([place.line], collect)
        return self._by_place.get(place)

    def frame(self, node: ast.AST) -> ast.AST:
        """The function around a node, or the module."""
        for up in self.ancestors(node):
            if isinstance(up, (*FUNCTIONS, ast.Module)):
                return up
        return self.source.tree

    def class_around(self, node: ast.AST) -> ast.ClassDef | None:
        """The nearest class around a node."""
        return next((up for up in self.ancestors(node) if isinstance(up, ast.ClassDef)), None)

    def holder(self, function: ast.AST) -> ast.ClassDef | None:
        """The class whose method a function is; None for any other function."""
        parent = self.parent(function)
        return parent if isinstance(parent, ast.ClassDef) else None

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The statement that a node stands in."""
        if isinstance(node, ast.stmt):
            return node
        return next((up for up in self.ancestors(node) if isinstance(up, ast.stmt)), None)

    def code(self, node: ast.AST, width: int = 50) -> str:
        """The text of a node in one line, cut where it is long."""
        text = " ".join(self.source.code(node).split())
        return text if len(text) <= width else f"{text[: width - 1]}…"

    # --- names ---

    def bindings(self, name: str, scope: Scope) -> list[Binding]:
        """The bindings of a name in a scope, with what functions bind that declare it ``global`` or ``nonlocal``."""
        if scope.parent is None and name in scope.hidden:
            self._reveal(name)
        found = scope.names.get(name, [])
        if scope.parent is None and name in self._declared_global:
            found = [*found, *(one for one in self._bound_globally(name) if one not in found)]
        elif scope.parent is not None and found and b"nonlocal" in self.source.data:
            found = [*found, *(one for one in self._bound_inside(name, scope) if one not in found)]
        return found

    @cached_property
    def _declared_global(self) -> frozenset[str]:
        """The names that functions of the file may declare ``global``, as its text has them."""
        data = self.source.data
        found = _GLOBAL.findall(data) if b"global " in data or b"global\t" in data else []
        return frozenset(name.strip().decode() for names in found for name in names.split(b","))

    def _reveal(self, name: str) -> None:
        """Have the functions and classes of a name parsed that were passed over."""
        self.source.definition(name)
        if name in self.source.scope.hidden:
            self.source.visit(self.source.lines_with_names((name,)), _nothing)

    def _bound_globally(self, name: str) -> Iterator[Binding]:
        for node in self.references(name):
            if isinstance(node, ast.Global) and name in node.names:
                frame = self.frame(node)
                if isinstance(frame, DEFINITIONS):
                    yield from self.source.inner_scope(frame).names.get(name, ())

    def _bound_inside(self, name: str, scope: Scope) -> Iterator[Binding]:
        """What the functions inside one bind that say ``nonlocal``."""
        for node in self.references(name):
            if isinstance(node, ast.Nonlocal) and name in node.names:
                inner = self.source.inner_scope(self.frame(node))
                owner = inner.lookup(name)
                if owner is not None and owner[0] is scope:
                    yield from inner.names.get(name, ())

    def references(self, name: str) -> list[ast.AST]:
        """Where an identifier stands: names, attributes, imports, ``global`` and ``nonlocal``, and literal strings."""
        known = self._references.get(name)
        if known is None:
            known = []

            def collect(node: ast.AST) -> None:
                if _identifier(node) == name or (isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names):
                    known.append(node)

            self._references[name] = known
            self.source.visit(self.source.lines_with_names((name,)), collect)
        return known

    def methods(self, definition: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """The methods of a class, those that were passed over too."""
        self.source.methods_revealed(definition)
        return [item for item in definition.body if isinstance(item, DEFINITIONS)]


def inside(frame: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function or module in their order, without those of functions and classes inside it."""
    pending: list[ast.AST] = list(reversed(list(_body(frame))))
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, _CLOSED):
            children = plain_children(node, CHILD_FIELDS[node.__class__])
            children.reverse()
            pending += children


def _body(frame: ast.AST) -> Iterable[ast.AST]:
    return frame.body if isinstance(frame, (*DEFINITIONS, ast.ClassDef)) else ast.iter_child_nodes(frame)


def _identifier(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.alias):
        return node.name.rpartition(".")[2]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.keyword):
        return node.arg
    return None


def _nothing(node: ast.AST) -> None:
    pass
