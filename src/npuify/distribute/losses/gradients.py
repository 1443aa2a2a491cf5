"""What reaches ``backward()``: it is never reduced over the processes, which would cut its gradients."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.arguments import argument_for
from npuify.analysis.files import DEFINITIONS
from npuify.analysis.values import OBJECTS

if TYPE_CHECKING:
    from npuify.analysis.values import Place
    from npuify.distribute.loops import Loops
    from npuify.distribute.program import Program, Unit

Holder = tuple["ast.AST | Place", str]
"""A name in a scope, or an attribute of a class's objects."""
Part = tuple[ast.expr, "Unit", "int | None"]
"""An expression in its file; of what a call returns, the element with that index alone."""
_PUTTING = frozenset(("append", "add", "insert", "extend", "update"))


class Gradients:
    """The names and attributes whose values reach ``backward()``, in whatever way."""

    def __init__(self, program: Program, loops: Loops) -> None:
        self.program = program
        self._holders: set[Holder] = set()
        self._returned: set[tuple[ast.AST, int | None]] = set()
        self._given = self._bindings()
        self._pending: list[Part] = []
        for call, unit in loops.backwards:
            given = [*call.args, *(keyword.value for keyword in call.keywords)] if isinstance(call, ast.Call) else []
            self._pending += [(node, unit, None) for node in (call.func, *given)]  # type: ignore[attr-defined]
        while self._pending:
            self._take(*self._pending.pop())

    def reach(self, node: ast.expr, unit: Unit) -> bool:
        """Whether what a name or attribute holds reaches ``backward()``."""
        return not self._holders.isdisjoint(self._of(node, unit))

    def _of(self, node: ast.AST, unit: Unit) -> set[Holder]:
        if isinstance(node, ast.Name):
            scope = unit.scope(node)
            found = scope.lookup(node.id)
            return {(found[0].node if found is not None else scope.module.node, node.id)}
        if isinstance(node, ast.Attribute):
            objects = self.program.of_kind(node.value, unit, *OBJECTS)
            return {(value.definition, node.attr) for value in objects if value.definition is not None}
        return set()

    def _bindings(self) -> dict[Holder, list[Part]]:
        """What each name and attribute gets, by assignments, by loops, and by what is put into it."""
        found: dict[Holder, list[Part]] = {}

        def give(target: ast.AST, value: ast.expr, unit: Unit, index: int | None = None) -> None:
            if isinstance(target, (ast.Tuple, ast.List)):
                parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
                for place, element in enumerate(target.elts):
                    matches = len(parts) == len(target.elts)
                    give(element, parts[place] if matches else value, unit, None if matches else place)
            elif isinstance(target, (ast.Starred, ast.Subscript)):
                give(target.value, value, unit)
            for holder in self._of(target, unit):
                found.setdefault(holder, []).append((value, unit, index))

        for unit in self.program.units:
            for node in unit.nodes:
                if isinstance(node, ast.Assign):
                    for target in node.targets:
                        give(target, node.value, unit)
                elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and node.value is not None:
                    give(node.target, node.value, unit)
                elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
                    give(node.target, node.iter, unit)
                elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _PUTTING:
                    for argument in node.args:
                        give(node.func.value, argument, unit)
        return found

    def _take(self, node: ast.expr, unit: Unit, index: int | None) -> None:
        """All that an expression is computed from reaches ``backward()``."""
        if isinstance(node, ast.Call) and index is not None and self.program.callees(node, unit):
            self._take_returned(node, unit, index)
            return
        for inner in ast.walk(node):
            for holder in self._of(inner, unit) - self._holders:
                self._holders.add(holder)
                self._pending += self._given.get(holder, ())
                self._take_arguments(holder)
            if isinstance(inner, ast.Call):
                self._take_returned(inner, unit, None)

    def _take_returned(self, call: ast.Call, unit: Unit, index: int | None) -> None:
        for function, home in self.program.callees(call, unit):
            if (function, index) in self._returned:
                continue
            self._returned.add((function, index))
            for node in ast.walk(function):
                if isinstance(node, ast.Return) and node.value is not None and home.function_around(node) is function:
                    value = node.value
                    if index is not None and isinstance(value, ast.Tuple) and index < len(value.elts):
                        value = value.elts[index]
                    self._pending.append((value, home, None))

    def _take_arguments(self, holder: Holder) -> None:
        """What calls pass for a parameter."""
        function, name = holder
        if not isinstance(function, DEFINITIONS):
            return
        home = next(unit for unit in self.program.units if function in unit.source.parents)
        for call, unit in self.program.callers(function):
            taken = int(home.holder(function) is not None)
            given = argument_for(name, function, call.args, call.keywords, taken)
            if isinstance(given, ast.expr):
                self._pending.append((given, unit, None))
