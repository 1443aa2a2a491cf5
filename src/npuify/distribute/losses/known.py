"""Which names and attributes hold losses, wherever they are assigned."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.values import OBJECTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.values import Place
    from npuify.distribute.reading.loops import Loops
    from npuify.distribute.reading.program import Program, Unit

_SAME_VALUE = frozenset(("detach", "cpu", "clone", "float", "item"))


class Losses:
    """The names and attributes that hold losses, by the function (for attributes: the class) that they belong to."""

    def __init__(self, program: Program, loops: Loops) -> None:
        self.program = program
        self.names: dict[ast.AST, set[str]] = {}
        self.frames: dict[ast.AST, Unit] = {}
        self.attributes: set[tuple[Place, str]] = set()
        for call, unit in loops.backwards:
            assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
            value: ast.expr = call.func.value
            if isinstance(value, ast.Call) and value.args:
                value = value.args[0]
            for node in ast.walk(value) if isinstance(value, ast.BinOp) else [value]:
                self._add(node, unit)
        self._spread(loops)

    def _add(self, node: ast.AST, unit: Unit) -> bool:
        if isinstance(node, ast.Name):
            frame = unit.function_around(node)
            self.frames[frame] = unit
            known = self.names.setdefault(frame, set())
            new = node.id not in known
            known.add(node.id)
            return new
        if isinstance(node, ast.Attribute):
            keys = {(holder, node.attr) for holder in self._holders(node.value, unit)}
            new = not keys <= self.attributes
            self.attributes |= keys
            return new
        return False

    def has(self, node: ast.expr, unit: Unit) -> bool:
        """Whether an expression is a loss."""
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SAME_VALUE:
            node = node.func.value
        if isinstance(node, ast.Attribute) and node.attr == "data":
            node = node.value
        if isinstance(node, ast.Name):
            return node.id in self.names.get(unit.function_around(node), ())
        if isinstance(node, ast.Attribute):
            return any((holder, node.attr) in self.attributes for holder in self._holders(node.value, unit))
        return False

    def _holders(self, node: ast.expr, unit: Unit) -> set[Place]:
        """The classes of the objects that an expression may be."""
        objects = self.program.of_kind(node, unit, *OBJECTS)
        return {value.definition for value in objects if value.definition is not None}

    def _spread(self, loops: Loops) -> None:
        """Parts that a loss is added up from, sums of losses, and what functions that train return are losses, too."""
        for _ in range(5):
            changed = False
            for region, unit in loops.training:
                for node in ast.walk(region):
                    if isinstance(node, (ast.Assign, ast.AugAssign)):
                        changed |= self._spread_one(node, unit)
            if not changed:
                return

    def _spread_one(self, node: ast.Assign | ast.AugAssign, unit: Unit) -> bool:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        changed = False
        parts = list(terms_of(node.value))
        for target in targets:
            if isinstance(target, (ast.Name, ast.Attribute)):
                if self.has(target, unit):
                    for part in parts:
                        if isinstance(part, ast.Name) and self._is_computed(part, unit):
                            changed |= self._add(part, unit)
                elif isinstance(node, ast.Assign) and any(
                    self.has(part, unit) and not is_number(part) for part in parts
                ):
                    changed |= self._add(target, unit)
            if isinstance(node.value, ast.Call):
                changed |= self._from_call(target, node.value, unit)
        return changed

    def _is_computed(self, name: ast.Name, unit: Unit) -> bool:
        """Whether a name is assigned something that is called, in its own function: a loss, not a weight."""
        for node in ast.walk(unit.function_around(name)):
            if isinstance(node, (ast.Assign, ast.AugAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                named = any(isinstance(target, ast.Name) and target.id == name.id for target in targets)
                if named and any(isinstance(item, ast.Call) for item in ast.walk(node.value)):
                    if not any(is_number(item) for item in ast.walk(node.value)):
                        return True
        return False

    def _from_call(self, target: ast.expr, call: ast.Call, unit: Unit) -> bool:
        changed = False
        for callee, home in self.program.callees(call, unit):
            for item in ast.walk(callee):
                if not isinstance(item, ast.Return) or item.value is None or home.function_around(item) is not callee:
                    continue
                if isinstance(item.value, ast.Tuple) and isinstance(target, ast.Tuple):
                    for element, value in zip(target.elts, item.value.elts, strict=False):
                        if self.has(value, home) and not is_number(value):
                            changed |= self._add(element, unit)
                elif self.has(item.value, home) and not is_number(item.value):
                    changed |= self._add(target, unit)
        return changed


def is_number(node: ast.AST) -> bool:
    """Whether it is a call of ``item()``."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "item"


def terms_of(node: ast.expr) -> Iterator[ast.expr]:
    """The operands of sums, products and quotients."""
    if isinstance(node, ast.BinOp):
        yield from terms_of(node.left)
        yield from terms_of(node.right)
    elif isinstance(node, ast.UnaryOp):
        yield from terms_of(node.operand)
    else:
        yield node
