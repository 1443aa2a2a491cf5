"""The loops of a program over its batches: which of them train, which evaluate, and what goes on inside."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from npuify.analysis.values import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.values import Value
    from npuify.distribute.reading.program import Program, Unit

Loop = ast.For | ast.While
LOOPS = (ast.For, ast.While)
_WHOLE = frozenset(("enumerate", "tqdm", "trange", "iter", "list", "tuple", "track", "auto"))
"""Functions that hand all elements of their first argument on, in their order."""
_HOPS = 6
_NO_GRADIENT = frozenset(("torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad"))


class Data(NamedTuple):
    """The expression of a loader that a loop goes through, with its file.

    ``is_all`` says that it stands in the head of the loop, which goes through all of it, and nothing else.
    """

    node: ast.expr
    unit: Unit
    is_all: bool = True


class Pass(NamedTuple):
    """A loop over batches. ``data`` is what it goes through, None where batches come from elsewhere."""

    node: Loop
    unit: Unit
    frame: ast.AST
    data: Data | None
    loaders: tuple[Value, ...]
    trains: bool
    iterator: ast.stmt | None = None
    """The statement that makes the iterator, where batches are taken by ``next``."""
    others: tuple[Data, ...] = ()
    """Other loaders that it goes through, at the same time or at another."""


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
            found = list({data.node: data for data in self._gone_through(node.iter, unit)}.values())
            if found:
                held = [one for data in found for one in self.program.of_kind(data.node, data.unit, Kind.LOADER)]
                frame, trains = unit.function_around(node), self.trains(node, unit)
                loaders = tuple(dict.fromkeys(held))
                yield Pass(node, unit, frame, found[0], loaders, trains, others=tuple(found[1:]))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "iter" and node.args:
            held = self.program.of_kind(node.args[0], unit, Kind.LOADER)
            loop = self._loop_of_iterator(node, unit) if held else None
            if loop is not None:
                place = unit.statement(node)
                trains = self.trains(loop, unit)
                data = Data(node.args[0], unit, False)
                yield Pass(loop, unit, unit.function_around(node), data, tuple(held), trains, place)

    def _gone_through(self, node: ast.expr, unit: Unit, is_all: bool = True, hops: int = _HOPS) -> Iterator[Data]:
        """The loaders that a loop goes through, behind ``enumerate``, ``zip``, progress bars and generators."""
        if self.program.of_kind(node, unit, Kind.LOADER):
            yield Data(node, unit, is_all)
            return
        calls = [(node, unit)] if isinstance(node, ast.Call) else self._makers(node, unit)
        for call, home in calls if hops else ():
            word = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            given = [*call.args, *(keyword.value for keyword in call.keywords)]
            whole = word in _WHOLE or "track" in word
            if whole or self._gives_batches(call, home):
                for argument in given[:1] if whole else given:
                    yield from self._gone_through(argument, home, is_all and whole and call is node, hops - 1)

    def _makers(self, node: ast.expr, unit: Unit) -> list[tuple[ast.Call, Unit]]:
        """The calls that make what an expression goes through, where it is a name of it."""
        makers = (self.program.maker(value) for value in self.program.of_kind(node, unit, Kind.CONTAINER))
        return [(one[0], one[1]) for one in makers if one is not None and isinstance(one[0], ast.Call)]

    def _gives_batches(self, call: ast.Call, unit: Unit) -> bool:
        """Whether going through what a call makes gives batches of loaders, or what holds them."""
        model = self.program.model
        found = model.elements(self.program.values(call, unit), unit)
        found |= model.items(found.where(lambda value: value.kind is Kind.CONTAINER), None, unit)
        return any(value.of is not None for value in found.of_kind(Kind.BATCH))

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
