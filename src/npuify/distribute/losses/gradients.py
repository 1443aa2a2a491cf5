"""What reaches ``backward()``: it is never reduced over the processes, which would cut its gradients."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npuify.distribute.reading.holders import Holder, Part
    from npuify.distribute.reading.loops import Loops
    from npuify.distribute.reading.program import Program, Unit


class Gradients:
    """The names and attributes whose values reach ``backward()``, in whatever way."""

    def __init__(self, program: Program, loops: Loops) -> None:
        self.program = program
        self._holders: set[Holder] = set()
        self._returned: set[tuple[ast.AST, int | None]] = set()
        self._pending: list[Part] = []
        for call, unit in loops.backwards:
            given = [*call.args, *(keyword.value for keyword in call.keywords)] if isinstance(call, ast.Call) else []
            self._pending += [(node, unit, None) for node in (call.func, *given)]  # type: ignore[attr-defined]
        while self._pending:
            self._take(*self._pending.pop())

    def reach(self, node: ast.expr, unit: Unit) -> bool:
        """Whether what a name or attribute holds reaches ``backward()``."""
        return not self._holders.isdisjoint(self.program.holders.of(node, unit))

    def _take(self, node: ast.expr, unit: Unit, index: int | None) -> None:
        """All that an expression is computed from reaches ``backward()``."""
        if isinstance(node, ast.Call) and index is not None and self.program.callees(node, unit):
            self._take_returned(node, unit, index)
            return
        for inner in ast.walk(node):
            for holder in self.program.holders.of(inner, unit) - self._holders:
                self._holders.add(holder)
                self._pending += self.program.holders.given(holder)
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
