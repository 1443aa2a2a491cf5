"""Whether all processes come by: conditions that may differ from process to process."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.values import Kind
from npuify.distribute.losses.known import Losses
from npuify.distribute.reading.loops import inside

if TYPE_CHECKING:
    from npuify.distribute.reading.loops import Loops
    from npuify.distribute.reading.program import Unit

_UNSTEADY = ("time.", "random.", "numpy.random.", "torch.rand", "os.getpid", "socket.", "datetime.")


def unsteady_condition(node: ast.AST, unit: Unit, loops: Loops, hops: int = 4) -> str | None:
    """A condition around ``node``, or around a call that leads to it, that may differ from process to process.

    None where there is none.
    """
    for up in unit.ancestors(node):
        if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for call, where in loops.program.callers(up) if hops else ():
                reason = unsteady_condition(call, where, loops, hops - 1)
                if reason is not None:
                    return reason
            return None
        test = up.test if isinstance(up, (ast.If, ast.IfExp, ast.While)) else None
        if test is None or inside(node, test):
            continue
        if _depends(test, _unsteady_in(unit.function_around(up), unit, loops), unit):
            return unit.source.code(test)
    return None


def _unsteady_in(frame: ast.AST, unit: Unit, loops: Loops) -> set[str]:
    """The names of a function that hold something of this process's batch, or of its clock or random numbers."""
    if frame not in loops.unsteady:
        loops.unsteady[frame] = _unsteady_names(frame, unit, loops)
    return loops.unsteady[frame]


def _unsteady_names(frame: ast.AST, unit: Unit, loops: Loops) -> set[str]:
    losses = Losses(loops.program, loops).names.get(frame, set())
    names: set[str] = set()
    for one in loops.passes:
        if one.frame is frame and isinstance(one.node, ast.For) and one.data is not None and one.iterator is None:
            target: ast.expr = one.node.target
            called = one.node.iter
            if isinstance(called, ast.Call) and getattr(called.func, "id", "") == "enumerate":
                target = target.elts[1] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else target
            taken = [item for item in ast.walk(target) if isinstance(item, ast.Name)]
            names |= {item.id for item in taken if not loops.program.values(item, unit).only(Kind.NUMBER)}
    bindings = [node for node in ast.walk(frame) if isinstance(node, (ast.Assign, ast.AugAssign))]
    while True:
        before = len(names)
        for node in bindings:
            if _depends(node.value, names, unit):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                held = {item.id for target in targets for item in ast.walk(target) if isinstance(item, ast.Name)}
                # Losses are averaged where they are asked for.
                names |= held - losses
        if len(names) == before:
            return names


def _depends(value: ast.expr, names: set[str], unit: Unit) -> bool:
    """Whether a value depends on some of ``names``, other than on their sizes, which are alike everywhere."""
    pending: list[ast.AST] = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and node.id in names:
            return True
        if isinstance(node, ast.Call):
            word = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if word in ("size", "dim", "numel", "len"):
                continue
            if word == "next" or unit.qualname(node.func).startswith(_UNSTEADY):
                return True
        if isinstance(node, ast.Attribute) and node.attr in ("shape", "ndim", "dtype", "device"):
            continue
        pending += ast.iter_child_nodes(node)
    return False
