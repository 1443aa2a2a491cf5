"""Gradient accumulation: gradients are gathered in the step that the optimizer takes, and not before."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.values import Kind
from npuify.distribute.edits import Unprovable
from npuify.distribute.reading.loops import inside
from npuify.language import commas, phrase

if TYPE_CHECKING:
    from npuify.distribute.edits import Draft
    from npuify.distribute.reading.loops import Loops, Pass
    from npuify.distribute.reading.models import Models
    from npuify.distribute.reading.program import Program, Unit
    from npuify.model import Edit


def gather_once(program: Program, loops: Loops, models: Models, draft: Draft) -> None:
    """Put forward and backward of steps that only accumulate under ``no_sync``."""
    for one in loops.passes:
        if not one.trains:
            continue
        test = _last_of_group(one, program, loops)
        if test is None:
            continue
        message = "accumulated gradients are reduced once, when the optimizer steps"
        try:
            edits = _edits(one, test, models, draft)
            draft.done("NPU359", one.unit, test, message, edits)
        except Unprovable as problem:
            advice = phrase(
                "{message}: run forward and backward under `with npu_distributed.no_sync(model, until=…):`",
                message=problem.message,
            )
            draft.left("NPU359", one.unit, test, "gradients are reduced in every step, which only costs time", advice)


def _steps(node: ast.AST, unit: Unit, program: Program) -> bool:
    """Whether a node is ``optimizer.step()`` or ``scaler.step(optimizer)``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "step":
        return False
    held = (node.func.value, *node.args)
    return any(program.of_kind(item, unit, Kind.OPTIMIZER) for item in held)


def _last_of_group(one: Pass, program: Program, loops: Loops) -> ast.expr | None:
    """The condition under which the optimizer steps, where gradients are accumulated between."""
    unit, loop = one.unit, one.node
    backwards = [node for node, where in loops.backwards if where is unit and inside(node, loop)]
    for node in ast.walk(loop):
        if not _steps(node, unit, program):
            continue
        for up in unit.ancestors(node):
            if up is loop:
                break
            if not isinstance(up, ast.If) or any(inside(item, up) for item in backwards):
                continue
            if any(inside(node, item) for item in up.orelse) or not backwards:
                continue
            other = any(_steps(item, unit, program) for part in up.orelse for item in ast.walk(part))
            if not other and any(isinstance(item, ast.Mod) for item in ast.walk(up.test)):
                return up.test
    return None


def _edits(one: Pass, test: ast.expr, models: Models, draft: Draft) -> list[Edit]:
    loop, unit = one.node, one.unit
    names = {unit.source.code(call.func) for call, where in models.uses if where is unit and inside(call, loop)}
    if len(names) != 1:
        raise Unprovable(test, "it is unclear which model this is")
    bound = {
        item.id
        for statement in loop.body
        for item in ast.walk(statement)
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
    }
    used = {item.id for item in ast.walk(test) if isinstance(item, ast.Name)}
    if used & bound:
        raise Unprovable(
            test, phrase("{value} changes before the optimizer's step", value=commas(sorted(used & bound)))
        )
    calls = [call for call, where in models.uses if where is unit and inside(call, loop)]
    first = [place for place, item in enumerate(loop.body) if any(inside(call, item) for call in calls)]
    last = [
        place
        for place, item in enumerate(loop.body)
        if any(isinstance(node, ast.Attribute) and node.attr == "backward" for node in ast.walk(item))
    ]
    if not first or not last or first[0] > last[-1]:
        raise Unprovable(test, "forward and backward are not in the loop itself")
    if any(inside(test, item) for item in loop.body[first[0] : last[-1] + 1]):
        raise Unprovable(test, "the optimizer's step is between them")
    head = f"with npu_distributed.no_sync({names.pop()}, until={unit.source.code(test)}):"
    if "\n" in head:
        raise Unprovable(test, "the condition spans several lines")
    return list(draft.editor(unit).under(loop.body[first[0]], loop.body[last[-1]], head))
