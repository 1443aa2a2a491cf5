"""The learning rate, scaled for a larger global batch."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.values import Kind
from npuify.language import phrase

if TYPE_CHECKING:
    from npuify.distribute.edits import Draft
    from npuify.distribute.reading.program import Program

_OWN_RATE = {"OneCycleLR": (1, "max_lr"), "CyclicLR": (2, "max_lr")}


def scale_learning_rate(program: Program, draft: Draft, rule: str) -> None:
    """Multiply the learning rate of each optimizer by the number of processes (``linear``) or its root (``sqrt``)."""
    for unit in program.units:
        for node in unit.nodes:
            if not isinstance(node, ast.Call):
                continue
            last = unit.qualname(node.func).rpartition(".")[2]
            if program.makes(node, unit, Kind.OPTIMIZER):
                place, word = 1, "lr"
            elif last in _OWN_RATE and "lr_scheduler" in unit.qualname(node.func):
                place, word = _OWN_RATE[last]
            else:
                continue
            given = next((keyword.value for keyword in node.keywords if keyword.arg == word), None)
            if given is None and len(node.args) > place and not any(isinstance(a, ast.Starred) for a in node.args):
                given = node.args[place]
            if given is None:
                draft.left(
                    "NPU361",
                    unit,
                    node,
                    "the learning rate is not specified here, so it is not scaled",
                    phrase('specify it: {word}=npu_distributed.scaled_lr(…, "{rule}")', word=word, rule=rule),
                )
                continue
            edits = draft.editor(unit).around(given, "npu_distributed.scaled_lr(", f', "{rule}")')
            how = "the number of cards" if rule == "linear" else "the square root of the number of cards"
            draft.done(
                "NPU361",
                unit,
                node,
                phrase("{word} is multiplied by {how}, as the global batch grows", word=word, how=how),
                edits,
            )
