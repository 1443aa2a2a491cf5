"""What every rank of a TensorFlow program would write or remove: told, since a condition may hang the others."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from npuify.distribute.reading.tensorflow import calls, values
from npuify.language import phrase

if TYPE_CHECKING:
    from npuify.distribute.edits import Draft
    from npuify.distribute.reading.program import Unit

_V1: Final = r"tensorflow\.(?:compat\.v1\.)?"
_WRITES: Final = re.compile(
    rf"{_V1}(?:saved_model\.(?:save|simple_save)|summary\.(?:FileWriter|create_file_writer)|train\.write_graph"
    r"|io\.write_graph|(?:io\.)?gfile\.(?:rmtree|DeleteRecursively|remove|Remove))"
    rf"|(?:{_V1})?keras\.callbacks\.(?:ModelCheckpoint|TensorBoard|CSVLogger)|shutil\.rmtree|os\.(?:remove|unlink)"
)
_SAVERS: Final = re.compile(rf"{_V1}train\.(?:Saver|Checkpoint|CheckpointManager)|(?:{_V1})?keras\.\w+(?:\.\w+)*")
_SAVE: Final = frozenset(("save", "save_weights", "write"))
_RANK: Final = re.compile(r"\b\w*rank\w*|worker_id|is_chief|is_main|is_master", re.IGNORECASE)


def tell_writes(unit: Unit, draft: Draft, rank: str) -> None:
    """Tell of files that all ranks write to the same place.

    Args:
        unit: the file.
        draft: takes what is said.
        rank: the expression for the number of the rank; empty for TensorFlow 1, where a run of one rank alone hangs.
    """
    for call in calls(unit):
        name = _written(unit, call)
        if not name or any(_RANK.search(unit.source.code(one)) for one in _conditions(unit, call)):
            continue
        draft.left(
            "NPU388",
            unit,
            call,
            phrase("every rank would do this in the same place: {name}", name=name),
            phrase("do it where {rank} is 0 only, with nothing under the condition that computes", rank=rank)
            if rank
            else "give each rank a folder of its own, or read and write in rank 0 only what no sess.run is needed for: "
            "a run of one rank alone hangs",
        )


def _conditions(unit: Unit, node: ast.AST) -> list[ast.expr]:
    return [one.test for one in unit.ancestors(node) if isinstance(one, (ast.If, ast.IfExp))]


def _written(unit: Unit, call: ast.Call) -> str:
    """What a call that writes is called; empty for others."""
    name = unit.qualname(call.func)
    if _WRITES.fullmatch(name):
        return name
    func = call.func
    if not (isinstance(func, ast.Attribute) and func.attr in _SAVE and isinstance(func.value, ast.Name)):
        return ""
    made = [unit.qualname(one.func) for one in values(unit, func.value, call) if isinstance(one, ast.Call)]
    return next((f"{one}.{func.attr}" for one in made if _SAVERS.fullmatch(one)), "")
