"""Loops of one's own in TensorFlow 2: steps become graphs, and all ranks get the same variables once they exist."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.distribute.edits import Unprovable
from npuify.distribute.reading.datasets import sources_of
from npuify.distribute.reading.gradient_tapes import (
    calls_of,
    is_graph,
    loops_around,
    model_at,
    steps,
    tapes_outside,
    why_no_graph,
)
from npuify.distribute.reading.tensorflow import is_built, values
from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Callable

    from npuify.distribute.edits import Draft
    from npuify.distribute.reading.program import Unit

_SENT: Final = "npu_variables_sent"


def make_graph(unit: Unit, draft: Draft) -> None:
    """Decorate steps that run eagerly with ``tf.function``; gradients are averaged inside graphs only."""
    for tape in tapes_outside(unit):
        draft.left(
            "NPU385",
            unit,
            tape,
            "this step is in no function: it runs eagerly, on the CPU, and its gradients are not averaged",
            phrase("put it into a function with @{name}", name="tf.function"),
        )
    for step in steps(unit):
        if is_graph(unit, step):
            continue
        made = unit.source.code(step.tape.func)
        why = why_no_graph(unit, step) or ("" if made.endswith(".GradientTape") else "tf is not imported as a whole")
        name = made[: -len("GradientTape")] + "function"
        if why:
            draft.left(
                "NPU385",
                unit,
                step.function,
                phrase(
                    "{name} runs eagerly, on the CPU, and was not made a graph: {why}", name=step.function.name, why=why
                ),
                phrase("take that out of the step, and decorate it with @{name}", name=name),
            )
            continue
        edits = [draft.editor(unit).directly_before(step.function, f"@{name}")]
        draft.done("NPU385", unit, step.tape, "the step is a graph, which runs on the NPU", edits, helper=False)


def send_in_loops(unit: Unit, draft: Draft, line: Callable[[str], str]) -> int:
    """Send the variables: before the loop where they exist, else behind the first step.

    Args:
        unit: the file.
        draft: takes the edits.
        line: the statement that sends the variables of a model, as it is written.

    Returns:
        In how many places it is done, or said that it has to be.
    """
    done = 0
    for step in steps(unit):
        for call in calls_of(unit, step):
            loops = loops_around(unit, call)
            if not loops:
                continue
            done += 1
            model = model_at(unit, step, call)
            if not model:
                draft.left(
                    "NPU386",
                    unit,
                    call,
                    "whose variables this step trains cannot be told here",
                    phrase("behind the first step: {model}", model=line("model")),
                )
                continue
            try:
                _send(unit, draft, call, loops[-1], model, line(model))
            except Unprovable:
                draft.left(
                    "NPU386",
                    unit,
                    call,
                    "the step shares its line",
                    phrase("behind the first step: {model}", model=line(model)),
                )
    return done


def _send(unit: Unit, draft: Draft, call: ast.Call, loop: ast.stmt, model: str, line: str) -> None:
    editor = draft.editor(unit)
    name = ast.Name(model, ast.Load()) if model.isidentifier() else None
    known = [one for one in values(unit, name, call) if one is not name] if name is not None else []
    if (
        known
        and all(is_built(unit, one) for one in known if isinstance(one, ast.Call))
        and any(isinstance(one, ast.Call) for one in known)
    ):
        edits = [editor.before(loop, line)]
    else:
        # The first step makes the variables. It differs between the ranks, and what it did is overwritten.
        lines = (f"if not {_SENT}:", f"    {line}", f"    {_SENT} = True")
        edits = [editor.before(loop, f"{_SENT} = False"), editor.after(unit.statement(call), *lines)]
    draft.done("NPU386", unit, call, "all cards train the same variables", edits, helper=False)


def looped_over(unit: Unit) -> list[ast.Call]:
    """Sources of the data that loops around steps go over."""
    found: list[ast.Call] = []
    for step in steps(unit):
        for call in calls_of(unit, step):
            for loop in loops_around(unit, call):
                if isinstance(loop, ast.For):
                    found += sources_of(unit, loop.iter, call)
    return list(dict.fromkeys(found))
