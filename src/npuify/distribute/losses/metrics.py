"""Losses that are printed, added up or tested while training: of all processes, not of one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.values import Kind
from npuify.distribute.edits import Unprovable
from npuify.distribute.losses.known import Losses, is_number
from npuify.distribute.losses.steadiness import unsteady_condition
from npuify.distribute.reading.loops import LOOPS, inside
from npuify.language import commas, phrase

if TYPE_CHECKING:
    from npuify.distribute.edits import Draft
    from npuify.distribute.losses.gradients import Gradients
    from npuify.distribute.reading.loops import Loops, Pass
    from npuify.distribute.reading.program import Program, Unit


def reduce_losses(program: Program, loops: Loops, gradients: Gradients, draft: Draft) -> None:
    """Replace ``loss.item()`` by the mean over the processes, and sums for accuracies by those of all processes."""
    losses = Losses(program, loops)
    seen: set[ast.AST] = set()
    frames = list(losses.frames.items())
    for region, unit in [*loops.training, *frames]:
        for node in ast.walk(region):
            if node in seen or not isinstance(node, ast.Call):
                continue
            seen.add(node)
            tensor = _tensor_of_number(node, unit)
            if tensor is None or loops.without_gradient(node, unit):
                continue
            if losses.has(tensor, unit) or (_is_mean(tensor) and (region, unit) not in frames):
                _reduce_one(node, tensor, unit, program, loops, draft)
    for region, unit in loops.training:
        for node in ast.walk(region):
            if isinstance(node, (ast.If, ast.While, ast.IfExp)) and not loops.without_gradient(node, unit):
                _agree(node.test, unit, losses, loops, draft)
    for one in loops.passes:
        if one.trains and isinstance(one.node, ast.For):
            _reduce_counts(one, losses, gradients, loops, draft)
            _count_all_samples(one, draft)


def _tensor_of_number(node: ast.Call, unit: Unit) -> ast.expr | None:
    """``x`` of ``x.item()`` and ``float(x)``."""
    if is_number(node) and isinstance(node.func, ast.Attribute) and not node.args:
        return node.func.value
    if isinstance(node.func, ast.Name) and node.func.id == "float" and len(node.args) == 1:
        return None if is_number(node.args[0]) else node.args[0]
    return None


def _is_mean(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "mean"


def _reduce_one(node: ast.Call, tensor: ast.expr, unit: Unit, program: Program, loops: Loops, draft: Draft) -> None:
    reason = unsteady_condition(node, unit, loops)
    if reason is not None:
        draft.left(
            "NPU358",
            unit,
            node,
            phrase(
                "{node} covers one process, and is only computed where {reason}",
                node=unit.source.code(node),
                reason=reason,
            ),
            "where every process gets here, use npu_distributed.mean(value); it must not be called by only some of "
            "them",
        )
        return
    word = "total" if _summed_over_samples(node, unit, program) else "mean"
    code = unit.source.code(tensor)
    text = f"npu_distributed.mean({code})" if word == "mean" else f"npu_distributed.total({unit.source.code(node)})"
    draft.meet(unit, node)
    message = phrase("the {value} over all processes", value="mean" if word == "mean" else "sum")
    draft.done("NPU358", unit, node, message, [draft.editor(unit).replace(node, text)])


def _summed_over_samples(node: ast.Call, unit: Unit, program: Program) -> bool:
    """Whether a number is added up and later divided by the number of samples: ``… / len(loader.dataset)``."""
    statement = unit.statement(node)
    if not isinstance(statement, ast.AugAssign) or not isinstance(statement.target, ast.Name):
        return False
    for item in ast.walk(unit.function_around(node)):
        value: ast.expr | None = None
        if isinstance(item, ast.BinOp) and isinstance(item.op, ast.Div) and isinstance(item.left, ast.Name):
            value = item.right if item.left.id == statement.target.id else None
        if isinstance(item, ast.AugAssign) and isinstance(item.op, ast.Div) and isinstance(item.target, ast.Name):
            value = item.value if item.target.id == statement.target.id else None
        if isinstance(value, ast.Call) and getattr(value.func, "id", "") == "len" and value.args:
            given = value.args[0]
            if isinstance(given, ast.Attribute) and given.attr == "dataset":
                return True
            return bool(program.of_kind(given, unit, Kind.DATASET, Kind.ITERABLE_DATASET))
    return False


def _agree(test: ast.expr, unit: Unit, losses: Losses, loops: Loops, draft: Draft) -> None:
    """Let a condition about a loss come out alike in all processes, since they would part ways otherwise."""
    for node in ast.walk(test):
        if not isinstance(node, (ast.Name, ast.Attribute)) or not losses.has(node, unit):
            continue
        parent = unit.source.parent(node)
        named = isinstance(parent, ast.Compare) and any(isinstance(one, (ast.Is, ast.IsNot)) for one in parent.ops)
        counted = isinstance(parent, ast.Call) and getattr(parent.func, "id", "") in ("isinstance", "len", "hasattr")
        if named or counted or any(inside(node, one) for one in draft.together):
            continue
        if unsteady_condition(test, unit, loops) is not None:
            continue
        draft.meet(unit, node)
        edits = draft.editor(unit).around(node, "npu_distributed.agreed(")
        draft.done("NPU358", unit, node, "all processes take the same branch", edits)


def _reduce_at_once(name: str, one: Pass, loops: Loops, draft: Draft) -> bool:
    """Add up over the processes what a loop adds to ``name`` in each step, where it is shown in the loop."""
    unit = one.unit
    added = [
        node
        for node in ast.walk(one.node)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id == name
    ]
    reads = [
        unit.statement(node)
        for node in ast.walk(one.node)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ]
    shown = bool(reads) and all(isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) for node in reads)
    if not shown or any(unsteady_condition(node, unit, loops) is not None for node in added):
        return False
    for node in added:
        draft.meet(unit, node)
        edits = draft.editor(unit).around(node.value, "npu_distributed.total(")
        draft.done("NPU358", unit, node, phrase("{name} covers all processes", name=name), edits)
    return True


def _reduce_counts(one: Pass, losses: Losses, gradients: Gradients, loops: Loops, draft: Draft) -> None:
    """Numbers other than losses that a training loop adds up, such as right answers, become those of all processes.

    Not so what gradients come from.
    """
    loop, unit = one.node, one.unit
    others: dict[str, None] = {}
    with_loss: dict[str, None] = {}
    for node in ast.walk(loop):
        if not isinstance(node, ast.AugAssign) or not isinstance(node.op, ast.Add):
            continue
        if not isinstance(node.target, ast.Name) or unit.function_around(node) is not one.frame:
            continue
        if gradients.reach(node.target, unit):
            continue
        if any(isinstance(item, ast.expr) and losses.has(item, unit) for item in ast.walk(node.value)):
            with_loss[node.target.id] = None
        elif any(isinstance(item, (ast.Call, ast.Attribute)) for item in ast.walk(node.value)):
            others[node.target.id] = None
    end = loop.end_lineno or loop.lineno
    read = {
        node.id
        for node in ast.walk(one.frame)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.lineno > end
    }
    at_once = {name for name in others if _reduce_at_once(name, one, loops, draft)}
    names = [name for name in others if name in read and name not in at_once]
    if not names:
        return
    if any(
        isinstance(up, LOOPS) and not _begins_inside(name, up, one) for up in unit.ancestors(loop) for name in names
    ):
        return
    names += [name for name in with_loss if name in read and not _over_length(name, one)]
    text = f"{', '.join(names)} = npu_distributed.total({', '.join(names)})"
    try:
        edit = draft.editor(unit).after(loop, text)
        draft.meet(unit, loop)
        draft.done("NPU358", unit, loop, phrase("{names} cover all processes", names=commas(names)), [edit])
    except Unprovable as problem:
        draft.left(
            "NPU358", unit, loop, phrase("{names} cover one process", names=commas(names)), f"{problem.message}: {text}"
        )


def _count_all_samples(one: Pass, draft: Draft) -> None:
    """``print(step * len(batch))``, how far the epoch has come, is about the samples of all processes."""
    target = one.node.target if isinstance(one.node, ast.For) else None
    if one.data is None or not isinstance(target, ast.Tuple) or not isinstance(target.elts[0], ast.Name):
        return
    number = target.elts[0].id
    batch = {item.id for part in target.elts[1:] for item in ast.walk(part) if isinstance(item, ast.Name)}
    for node in ast.walk(one.node):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
            continue
        sides = (node.left, node.right)
        counts = any(isinstance(side, ast.Name) and side.id == number for side in sides)
        sizes = any(isinstance(side, ast.Call) and _length_of(side, batch) for side in sides)
        if counts and sizes and _is_said(node, one.unit):
            edits = draft.editor(one.unit).around(node, "", " * npu_distributed.world_size()")
            draft.done("NPU358", one.unit, node, "the samples that all processes have processed so far", edits)


def _length_of(call: ast.Call, names: set[str]) -> bool:
    given = call.args[0] if getattr(call.func, "id", "") == "len" and call.args else None
    return isinstance(given, ast.Name) and given.id in names


def _is_said(node: ast.AST, unit: Unit) -> bool:
    """Whether an expression is printed or logged in its own statement."""
    statement = unit.statement(node)
    called = statement.value.func if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) else None
    return getattr(called, "attr", getattr(called, "id", "")) in ("print", "info", "debug", "write", "log")


def _begins_inside(name: str, up: ast.AST, one: Pass) -> bool:
    if one.unit.function_around(up) is not one.frame:
        return True
    return any(
        isinstance(node, ast.Assign)
        and not inside(node, one.node)
        and any(isinstance(item, ast.Name) and item.id == name for target in node.targets for item in ast.walk(target))
        for node in ast.walk(up)
    )


def _over_length(name: str, one: Pass) -> bool:
    """Whether a sum is divided by a ``len(…)``, to which the mean over processes belongs."""
    for item in ast.walk(one.frame):
        if isinstance(item, (ast.BinOp, ast.AugAssign)) and isinstance(item.op, ast.Div):
            left = item.left if isinstance(item, ast.BinOp) else item.target
            right = item.right if isinstance(item, ast.BinOp) else item.value
            if isinstance(left, ast.Name) and left.id == name:
                return isinstance(right, ast.Call) and getattr(right.func, "id", "") == "len"
    return False
