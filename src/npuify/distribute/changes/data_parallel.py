"""``DataParallel`` goes: one process drives one card."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.values import Kind
from npuify.distribute.edits import Unprovable

if TYPE_CHECKING:
    from npuify.analysis.values import Place
    from npuify.distribute.edits import Draft
    from npuify.distribute.reading.program import Program

_DATA_PARALLEL = frozenset(
    ("torch.nn.DataParallel", "torch.nn.parallel.DataParallel", "torch.nn.parallel.data_parallel.DataParallel")
)


def replace_data_parallel(program: Program, draft: Draft) -> bool:
    """Take ``DataParallel`` from around models; what is inside it stays.

    Returns:
        Whether the program uses it: its batch size is then that of all cards already.
    """
    wrapped: set[Place | None] = set()
    for unit in program.units:
        for node in unit.nodes:
            if not isinstance(node, ast.Call) or unit.qualname(node.func) not in _DATA_PARALLEL or not node.args:
                continue
            editor = draft.editor(unit)
            statement = unit.statement(node)
            inner = unit.source.code(node.args[0])
            wrapped |= {value.place for value in program.of_kind(node.args[0], unit, Kind.MODEL)}
            message = "DataParallel drives all cards from one process; there is now one process per card"
            try:
                whole = isinstance(statement, ast.Assign) and statement.value is node
                if whole and unit.source.code(statement.targets[0]) == inner:  # type: ignore[attr-defined]
                    doomed: ast.stmt = statement
                    block, _ = unit.block(statement)
                    parent = unit.source.parent(statement)
                    others = [one for one in block if one is not statement and not _says(one)]
                    if isinstance(parent, ast.If) and not others and not parent.orelse and block is parent.body:
                        grand = unit.source.parent(parent)
                        is_elif = isinstance(grand, ast.If) and parent in grand.orelse
                        if not is_elif:
                            doomed = parent
                    if len(unit.block(doomed)[0]) > 1:
                        draft.done("NPU364", unit, node, message, [editor.delete(doomed)])
                        continue
                draft.done("NPU364", unit, node, message, [editor.replace(node, inner)])
            except Unprovable as problem:
                draft.left("NPU364", unit, node, message, problem.message)
    _without_module(wrapped, program, draft)
    return bool(wrapped)


def _without_module(wrapped: set[Place | None], program: Program, draft: Draft) -> None:
    """``model.module``, which was the model inside of DataParallel, is the model itself now."""
    for unit in program.units:
        for node in unit.nodes:
            if not isinstance(node, ast.Attribute) or node.attr != "module" or isinstance(node.ctx, ast.Store):
                continue
            things = program.of_kind(node.value, unit, Kind.MODEL)
            asked = any(
                "hasattr" in unit.source.code(up.test) or "isinstance" in unit.source.code(up.test)
                for up in unit.ancestors(node)
                if isinstance(up, (ast.If, ast.IfExp))
            )
            if asked or not things or not all(value.place in wrapped for value in things):
                continue
            editor = draft.editor(unit)
            edit = editor.remove(unit.source.end(node.value), unit.source.end(node))
            draft.done(
                "NPU364", unit, node, "without DataParallel, the model is no longer in the attribute module", [edit]
            )


def _says(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and getattr(call.func, "id", getattr(call.func, "attr", "")) in ("print", "info")
