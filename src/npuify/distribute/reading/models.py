"""Models: which of them train, and where they are called."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.values import MODELS, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.values import Place, Value
    from npuify.distribute.reading.loops import Loops
    from npuify.distribute.reading.program import Program, Unit


class Models:
    """The models that a program trains.

    Args:
        wanted: the name of the model, as ``--model`` gives it; empty for all that are found.

    Attributes:
        uses: the calls of these models, with gradients, while training.
        values: the models that are called there.
    """

    def __init__(self, program: Program, loops: Loops, wanted: str) -> None:
        self.program = program
        self.loops = loops
        self.wanted = wanted
        if wanted:
            self._trust()
        self.uses = list(self._forward_calls())
        self.values = {value for call, unit in self.uses for value in self.known(call.func, unit)}

    def known(self, node: ast.expr, unit: Unit) -> list[Value]:
        """The models that an expression may stand for."""
        return self.program.models(node, unit)

    def _forward_calls(self) -> Iterator[tuple[ast.Call, Unit]]:
        """Calls of models, with gradients, while training; those inside of models themselves left out."""
        seen: set[ast.AST] = set()
        optimized = self._optimized()
        for region, unit in self.loops.training:
            for node in ast.walk(region):
                if not isinstance(node, ast.Call) or node in seen:
                    continue
                seen.add(node)
                models = self.known(node.func, unit)
                if not models or self._in_model(node, unit) or self.loops.without_gradient(node, unit):
                    continue
                if self.wanted:
                    if not self._is_wanted(node, unit):
                        continue
                elif optimized and not any(optimized & {model.place, model.definition} for model in models):
                    continue
                yield node, unit

    def _is_wanted(self, call: ast.Call, unit: Unit) -> bool:
        text = unit.source.code(call.func)
        return self.wanted in (text, text.rpartition(".")[2], text.partition("[")[0])

    def _trust(self) -> None:
        """Take for a model what is called by the name that is asked for, unless it is known to be something else."""
        for region, unit in self.loops.training:
            for node in ast.walk(region):
                if isinstance(node, ast.Call) and self._is_wanted(node, unit):
                    self.program.proofs.trust(node.func, unit)

    def _optimized(self) -> set[Place | None]:
        """Where the models are made whose parameters an optimizer gets, if that is known for every optimizer.

        A model that makes its optimizer itself is any object of its class.
        """
        found: set[Place | None] = set()
        for unit in self.program.units:
            for node in unit.nodes:
                if isinstance(node, ast.Call) and self.program.makes(node, unit, Kind.OPTIMIZER):
                    given = [
                        value.of.place
                        for argument in (*node.args, *(keyword.value for keyword in node.keywords))
                        for inner in ast.walk(argument)
                        for value in self.program.of_kind(inner, unit, Kind.PARAMETERS)
                        if value.of is not None
                    ]
                    if not given:
                        return set()
                    found.update(given)
        return found

    def _in_model(self, node: ast.AST, unit: Unit) -> bool:
        holder = unit.class_around(node)
        return holder is not None and self.program.kind_of_class(holder, unit) in MODELS
