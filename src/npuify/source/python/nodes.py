"""The nodes of a Python file on the lines asked for, with their parents and scopes."""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from npuify.source.python.children import CHILD_FIELDS, plain_children, scoped_children
from npuify.source.python.module import PythonModule
from npuify.source.python.scopes import Scope, ScopeNode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from npuify.source.text import Text
    from npuify.words import Words

_OPENING = frozenset(ScopeNode)
_SCOPED = _OPENING | {ast.comprehension}
_DECORATED = frozenset((ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))


class PythonNodes(PythonModule):
    """A module of which nodes can be visited.

    For arguments and errors see :class:`npuify.source.python.PythonSource`.
    """

    def __init__(self, relative: str, module: str, raw: bytes | Text, words: Words | None = None) -> None:
        super().__init__(relative, module, raw, words)
        self.parents: dict[ast.AST, ast.AST] = {}
        """The parent of each node that was visited."""
        self._scopes: dict[ast.AST, Scope] = {self.tree: self.scope}
        self._around: dict[ast.AST, Scope] = {}
        self._rows: dict[ast.AST, ast.BinOp] = {}

    def visit(self, lines: Iterable[int], wanted: Callable[[ast.AST], None]) -> None:
        """Call ``wanted`` for every node that covers one of ``lines``, outer nodes first, in source order.

        Parents and scopes of the visited nodes are known from then on.
        """
        ordered = sorted(set(lines))
        if not ordered:
            return
        self._parse_lines(ordered)
        parents, scopes, around, module_scope = self.parents, self._scopes, self._around, self.scope
        fields_of = CHILD_FIELDS
        stack: list[tuple[ast.AST, Scope, int, int]] = [(self.tree, module_scope, 0, len(ordered))]
        while stack:
            node, scope, low, high = stack.pop()
            wanted(node)
            kind = node.__class__
            fields = fields_of[kind]
            if not fields:
                continue
            pending = []
            for child, child_scope in (
                self._scoped_children(node, scope)
                if kind in _SCOPED
                else [(child, scope) for child in plain_children(node, fields)]
            ):
                placed = child.__dict__
                line: int | None = placed.get("lineno")
                if line is None:
                    begin, end = low, high
                else:
                    last: int = placed["end_lineno"]
                    if child.__class__ in _DECORATED and child.decorator_list:  # type: ignore[attr-defined]
                        line = min(line, child.decorator_list[0].lineno)  # type: ignore[attr-defined]
                    if high - low == 1:
                        if not line <= ordered[low] <= last:
                            continue
                        begin, end = low, high
                    else:
                        begin = bisect_left(ordered, line, low, high)
                        end = bisect_right(ordered, last, begin, high)
                        if begin == end:
                            continue
                parents[child] = node
                if child.__class__ in _OPENING:
                    around[child] = child_scope
                elif child_scope is not module_scope:
                    scopes[child] = child_scope
                pending.append((child, child_scope, begin, end))
            pending.reverse()
            stack += pending

    def _scoped_children(self, node: ast.AST, scope: Scope) -> Iterable[tuple[ast.AST, Scope]]:
        """The child nodes of what opens a scope, or of a comprehension, with the scope that each is evaluated in."""
        inner = scope
        if not isinstance(node, ast.comprehension) and node is not self.tree:
            known = self._scopes.get(node)
            if known is None:
                known = self._scopes[node] = Scope(node, scope, self.module)
            inner = known
        return scoped_children(node, scope, inner)

    def scope_of(self, node: ast.AST) -> Scope:
        """The scope in which ``node`` is evaluated. The node must have been visited."""
        if isinstance(node, ScopeNode):
            return self._around.get(node, self.scope)
        return self._scopes.get(node, self.scope)

    def inner_scope(self, node: ast.AST) -> Scope:
        """The scope that ``node``, a function, class, lambda or comprehension, opens."""
        scope = self._scopes.get(node)
        if scope is None or scope.node is not node:
            scope = self._scopes[node] = Scope(node, self.scope_of(node), self.module)
        return scope

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self.parents.get(node)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around ``node``, from the nearest to the module.

        Of a row of one operator, ``a + b + c + …``, only the first and the last are given, so that a row of thousands
        is not walked for each of its operands.
        """
        parent = self.parents.get(node)
        while parent is not None:
            yield parent
            if type(parent) is ast.BinOp:
                top = self._last_of_row(parent)
                if top is not parent:
                    parent = top
                    yield parent
            parent = self.parents.get(parent)

    def _last_of_row(self, node: ast.BinOp) -> ast.BinOp:
        """The outermost of the operations with the same operator around ``node``."""
        row = [node]
        kind = type(node.op)
        while True:
            known = self._rows.get(row[-1])
            if known is not None:
                top = known
                break
            above = self.parents.get(row[-1])
            if above is None:
                return row[-1]  # not visited yet, so its parent may be learnt later
            if type(above) is not ast.BinOp or type(above.op) is not kind:
                top = row[-1]
                break
            row.append(above)
        for item in row:
            self._rows[item] = top
        return top
