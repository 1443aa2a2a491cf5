"""The loops of a program over its batches: which of them train, which evaluate, and what goes on inside."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from npuify.analysis.values import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.values import Value
    from npuify.distribute.program import Program, Unit

Loop = ast.For | ast.While
LOOPS = (ast.For, ast.While)
_PASSING = frozenset(("enumerate", "tqdm", "trange", "iter", "list", "reversed", "track", "cycle", "islice", "auto"))
"""Functions that hand the elements of their first argument on."""
_NO_GRADIENT = frozenset(("torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad"))


class Pass(NamedTuple):
    """A loop over batches. ``data`` is the loader's expression, None where batches come from elsewhere."""

    node: Loop
    unit: Unit
    frame: ast.AST
    data: ast.expr | None
    loaders: tuple[Value, ...]
    trains: bool
    iterator: ast.stmt | None = None
    """The statement that makes the iterator, where batches are taken by ``next``."""


class Loops:
    """All loops over batches of a program.

    Attributes:
        passes: these loops.
        training: the statements that run while training, with their files: bodies of loops, and functions called.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.unsteady: dict[ast.AST, set[str]] = {}
        """The names, by function, that hold what may differ from process to process; filled where it is asked for."""
        self.backwards = [
            (node, unit) for unit in program.units for node in unit.nodes if self._is_backward(node, unit)
        ]
        self.backward_frames = {unit.function_around(node) for node, unit in self.backwards}
        self.passes: list[Pass] = []
        for unit in program.units:
            for node in unit.nodes:
                self.passes += self._passes_at(node, unit)
        self.passes += self._without_loader()
        self.training: list[tuple[ast.AST, Unit]] = []
        for one in self.passes:
            if one.trains:
                self.training.append((one.node, one.unit))
                self.training += program.reached((one.node, one.unit)).items()

    def _is_backward(self, node: ast.AST, unit: Unit) -> bool:
        return (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "backward"
            and not self.program.callees(node, unit)
        )

    def trains(self, node: ast.AST, unit: Unit) -> bool:
        """Whether code calls ``backward`` itself or by a function that it calls."""
        if any(self._is_backward(inner, unit) for inner in ast.walk(node)):
            return True
        return not self.backward_frames.isdisjoint(self.program.reached((node, unit)))

    def _passes_at(self, node: ast.AST, unit: Unit) -> Iterator[Pass]:
        if isinstance(node, ast.For):
            data = self._gone_through(node.iter, unit)
            loaders = self.program.of_kind(data, unit, Kind.LOADER)
            if loaders:
                yield Pass(node, unit, unit.function_around(node), data, tuple(loaders), self.trains(node, unit))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "iter" and node.args:
            loaders = self.program.of_kind(node.args[0], unit, Kind.LOADER)
            loop = self._loop_of_iterator(node, unit) if loaders else None
            if loop is not None:
                place = unit.statement(node)
                trains = self.trains(loop, unit)
                yield Pass(loop, unit, unit.function_around(node), node.args[0], tuple(loaders), trains, place)

    def _gone_through(self, node: ast.expr, unit: Unit) -> ast.expr:
        """What a loop goes through, behind ``enumerate`` and progress bars."""
        while isinstance(node, ast.Call) and node.args and not self.program.of_kind(node, unit, Kind.LOADER):
            word = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if word not in _PASSING and "track" not in word:
                break
            node = node.args[0]
        return node

    def _loop_of_iterator(self, node: ast.Call, unit: Unit) -> Loop | None:
        """The loop that takes batches, by ``next``, from an iterator that ``node`` makes."""
        target = unit.source.parent(node)
        if not isinstance(target, ast.Assign) or not isinstance(target.targets[0], ast.Name):
            return None
        name, frame = target.targets[0].id, unit.function_around(node)
        for call in unit.nodes:
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "next" and call.args:
                if (
                    isinstance(call.args[0], ast.Name)
                    and call.args[0].id == name
                    and unit.function_around(call) is frame
                ):
                    return innermost(call, unit)
        return None

    def _without_loader(self) -> list[Pass]:
        """The innermost loops around ``backward`` that no loop over a loader is."""
        found: list[Pass] = []
        known = [one.node for one in self.passes if one.trains]
        for node, unit in self.backwards:
            if any(inside(node, one.node) for one in self.passes if one.trains):
                continue
            for loop, where in self.loops_around(node, unit):
                if loop in known or any(one.node is loop for one in found):
                    break
                if any(one.trains and loop is one.node for one in self.passes):
                    break
                reached = any(self._reaches_from(one, node, unit) for one in self.passes if one.trains)
                if not reached:
                    found.append(Pass(loop, where, where.function_around(loop), None, (), True))
                break
        return found

    def _reaches_from(self, one: Pass, node: ast.AST, unit: Unit) -> bool:
        return unit.function_around(node) in self.program.reached((one.node, one.unit))

    def loops_around(self, node: ast.AST, unit: Unit, hops: int = 6) -> Iterator[tuple[Loop, Unit]]:
        """The loops around a node, from the nearest on: in its function, then in those that call it."""
        for up in unit.ancestors(node):
            if isinstance(up, LOOPS):
                yield up, unit
            if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for call, where in self.program.callers(up) if hops else ():
                    yield from self.loops_around(call, where, hops - 1)
                return

    def without_gradient(self, node: ast.AST, unit: Unit) -> bool:
        """Whether code runs under ``torch.no_grad()`` in its own function, or where that function is called."""
        for up in unit.ancestors(node):
            if isinstance(up, ast.With):
                names = (unit.qualname(getattr(item.context_expr, "func", None)) for item in up.items)
                if any(name in _NO_GRADIENT for name in names):
                    return True
            if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for decorator in up.decorator_list:
                    if unit.qualname(getattr(decorator, "func", decorator)) in _NO_GRADIENT:
                        return True
                calls = self.program.callers(up)
                return bool(calls) and all(
                    self.without_gradient(call, where)
                    for call, where in calls
                    if not inside(call, up) and call is not node
                )
        return False


def innermost(node: ast.AST, unit: Unit) -> Loop | None:
    """The nearest loop around a node in its own function."""
    for up in unit.ancestors(node):
        if isinstance(up, LOOPS):
            return up
        if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            return None
    return None


def inside(node: ast.AST, outer: ast.AST) -> bool:
    return any(one is node for one in ast.walk(outer))
