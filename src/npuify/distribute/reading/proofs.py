"""Objects of which nothing is known but what is done with them, which proves that they are models."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.values import Kind

if TYPE_CHECKING:
    from npuify.distribute.reading.holders import Holder, Holders
    from npuify.distribute.reading.questions import Questions
    from npuify.distribute.reading.units import Unit

_OF_MODELS = frozenset(("parameters", "named_parameters", "train"))
"""Methods that modules have, and hardly anything else that a training loop calls like a function."""
_SAME = frozenset("to cuda npu cpu train eval half float double bfloat16 requires_grad_ apply".split())


class Proofs:
    """The names and attributes that hold models, as their use proves."""

    def __init__(self, program: Questions, holders: Holders) -> None:
        self.program = program
        self.holders = holders
        self._proven: set[Holder] = set()
        for unit in program.units:
            for node in unit.nodes:
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                    if node.func.attr in _OF_MODELS and self._is_open(node.func.value, unit):
                        self.trust(node.func.value, unit)

    def trust(self, node: ast.expr, unit: Unit) -> None:
        """Take an expression for a model."""
        self._proven |= self._way(node, unit)

    def prove(self, node: ast.AST, unit: Unit) -> bool:
        """Whether an expression of which nothing is known is a model."""
        is_named = isinstance(node, (ast.Name, ast.Attribute))
        return is_named and self._is_open(node, unit) and not self._proven.isdisjoint(self._way(node, unit))

    def _is_open(self, node: ast.AST, unit: Unit) -> bool:
        """Whether nothing says what an expression is."""
        kinds = self.program.values(node, unit).kinds - {Kind.NONE}
        return kinds <= {Kind.UNKNOWN, Kind.HEIR, Kind.LIBRARY_OBJECT}

    def _way(self, node: ast.AST, unit: Unit) -> set[Holder]:
        """The names and attributes through which an object comes."""
        found: set[Holder] = set()
        pending = [(node, unit)]
        while pending:
            one, home = pending.pop()
            while isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr in _SAME:
                one = one.func.value
            for holder in self.holders.of(one, home) - found:
                found.add(holder)
                pending += [(given, where) for given, where, _ in self.holders.given(holder)]
        return found
