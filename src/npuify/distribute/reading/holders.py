"""Names and attributes as what holds things: what each of them gets, from assignments, loops, calls and containers."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from npuify.analysis.arguments import argument_for
from npuify.analysis.files import DEFINITIONS
from npuify.analysis.values import OBJECTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.values import Place
    from npuify.distribute.reading.questions import Questions
    from npuify.distribute.reading.units import Unit

Holder = tuple["ast.AST | Place", str]
"""A name in a scope, or an attribute of a class's objects."""
Part = tuple[ast.expr, "Unit", "int | None"]
"""An expression in its file; of what a call returns, the element with that index alone."""
_PUTTING = frozenset(("append", "add", "insert", "extend", "update"))


class Holders:
    """The names and attributes of a program."""

    def __init__(self, program: Questions) -> None:
        self.program = program

    def of(self, node: ast.AST, unit: Unit) -> set[Holder]:
        """The name or attribute that an expression is."""
        if isinstance(node, ast.Name):
            scope = unit.scope(node)
            found = scope.lookup(node.id)
            return {(found[0].node if found is not None else scope.module.node, node.id)}
        if isinstance(node, ast.Attribute):
            objects = self.program.of_kind(node.value, unit, *OBJECTS)
            return {(value.definition, node.attr) for value in objects if value.definition is not None}
        return set()

    def given(self, holder: Holder) -> Iterator[Part]:
        """What a name or attribute gets, and what is put into it."""
        yield from self._bound.get(holder, ())
        function, name = holder
        if isinstance(function, DEFINITIONS):
            home = next(unit for unit in self.program.units if function in unit.source.parents)
            taken = int(home.holder(function) is not None)
            for call, unit in self.program.callers(function):
                given = argument_for(name, function, call.args, call.keywords, taken)
                if isinstance(given, ast.expr):
                    yield given, unit, None

    @cached_property
    def _bound(self) -> dict[Holder, list[Part]]:
        found: dict[Holder, list[Part]] = {}

        def give(target: ast.AST, value: ast.expr, unit: Unit, index: int | None = None) -> None:
            if isinstance(target, (ast.Tuple, ast.List)):
                parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
                matches = len(parts) == len(target.elts)
                for place, element in enumerate(target.elts):
                    give(element, parts[place] if matches else value, unit, None if matches else place)
            elif isinstance(target, (ast.Starred, ast.Subscript)):
                give(target.value, value, unit)
            for holder in self.of(target, unit):
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
