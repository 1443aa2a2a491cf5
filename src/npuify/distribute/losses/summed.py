"""Losses that are sums over the batch: their gradients have to be added over the cards, not averaged."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.values import Kind
from npuify.distribute.losses.known import terms_of
from npuify.language import phrase
from npuify.model import Severity

if TYPE_CHECKING:
    from npuify.distribute.edits import Draft
    from npuify.distribute.reading.loops import Loops
    from npuify.distribute.reading.program import Program, Unit

_HOPS = 6


def add_up(program: Program, loops: Loops, draft: Draft, *, keep_global_batch: bool) -> None:
    """Multiply summed losses by the number of processes, since gradients are averaged, where the global batch stays."""
    for call, unit in loops.backwards:
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        value: ast.expr = call.func.value
        scaled = isinstance(value, ast.Call) and len(value.args) == 1 and isinstance(value.func, ast.Attribute)
        if scaled and value.func.attr == "scale":  # type: ignore[attr-defined]
            value = value.args[0]  # type: ignore[attr-defined]
        if not isinstance(value, (ast.Name, ast.Attribute)) or not _is_sum(value, unit, program, _HOPS):
            continue
        code = unit.source.code(value)
        if keep_global_batch:
            text = phrase("{code} * npu_distributed.world_size()", code=code)
            edit = draft.editor(unit).replace(value, text if scaled else f"({text})")
            message = phrase("{code} is a sum over the batch, but gradients are averaged over the processes", code=code)
            draft.done("NPU368", unit, call, message, [edit])
        else:
            draft.left(
                "NPU368",
                unit,
                call,
                phrase(
                    "{code} is a sum over the batch; its gradients, averaged over N cards, are those of "
                    "one card's batch",
                    code=code,
                ),
                "this keeps the learning rate valid; multiply the loss by npu_distributed.world_size() to get the sum "
                "over all cards",
                Severity.INFO,
            )


def _is_sum(node: ast.expr, unit: Unit, program: Program, hops: int) -> bool:
    """Whether every term of an expression is a sum over all elements."""
    terms = [item for item in terms_of(node) if not _is_weight(item, unit)]
    return bool(terms) and hops > 0 and all(_is_summed(item, unit, program, hops) for item in terms)


def _is_weight(node: ast.expr, unit: Unit) -> bool:
    return isinstance(node, ast.Constant) or (
        isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("args", "opt", "cfg")
    )


def _is_summed(node: ast.expr, unit: Unit, program: Program, hops: int) -> bool:
    if isinstance(node, ast.Name):
        values = [
            item.value
            for item in ast.walk(unit.function_around(node))
            if isinstance(item, ast.Assign)
            and any(isinstance(target, ast.Name) and target.id == node.id for target in item.targets)
        ]
        return bool(values) and all(_is_sum(value, unit, program, hops - 1) for value in values)
    if not isinstance(node, ast.Call):
        return False
    if any(keyword.arg == "reduction" and _says_sum(keyword.value) for keyword in node.keywords):
        return True
    name = unit.qualname(node.func)
    first = node.args[0] if node.args else None
    if getattr(node.func, "id", "") == "sum" and not name and isinstance(first, (ast.GeneratorExp, ast.ListComp)):
        return _is_sum(first.elt, unit, program, hops - 1)
    if name == "torch.sum":
        return len(node.args) == 1 and not node.keywords
    if isinstance(node.func, ast.Attribute) and node.func.attr == "sum":
        return not node.args and not node.keywords
    losses = program.of_kind(node.func, unit, Kind.LOSS)
    if losses:
        makers = [program.maker(loss) for loss in losses]
        return all(maker is not None and _is_made_to_sum(maker[0]) for maker in makers)
    for callee, home in program.callees(node, unit):
        returned = [
            item.value
            for item in ast.walk(callee)
            if isinstance(item, ast.Return) and item.value is not None and home.function_around(item) is callee
        ]
        return bool(returned) and all(_is_sum(value, home, program, hops - 1) for value in returned)
    return False


def _is_made_to_sum(node: ast.AST) -> bool:
    keywords = node.keywords if isinstance(node, ast.Call) else []
    return any(keyword.arg == "reduction" and _says_sum(keyword.value) for keyword in keywords)


def _says_sum(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == "sum"
