"""One line of TensorFlow: what programs of both do alike on many cards."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.distribute.reading.datasets import chain_of, extent_of, sources_of
from npuify.distribute.reading.tensorflow import (
    calls,
    is_source,
    is_wrapped,
    values,
)
from npuify.distribute.tensorflow_loops import looped_over
from npuify.distribute.tensorflow_writes import tell_writes
from npuify.language import phrase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.distribute.edits import Draft
    from npuify.distribute.reading.program import Program, Unit
    from npuify.model import Edit


class Line:
    """What both lines of the adapter have in common."""

    optimizers: re.Pattern[str]
    wrapper: str
    rank: str
    own_number = ""
    """The number of a process among them, where a condition on it is harmless around what writes."""

    def __init__(self, program: Program, draft: Draft) -> None:
        self.program, self.draft = program, draft
        self.wraps = self.sends = 0
        self.datasets = [(unit, call) for unit in program.units for call in calls(unit) if is_source(unit, call)]

    def convert(self, unit: Unit) -> None:
        """Edit one file."""
        for call in calls(unit):
            if self.optimizers.fullmatch(unit.qualname(call.func)) and not is_wrapped(unit, call):
                self.wrap(unit, call)
        self.send(unit)
        self.share(unit)
        tell_writes(unit, self.draft, self.spelled(unit, self.own_number) if self.own_number else "")

    def wrap(self, unit: Unit, node: ast.expr) -> None:
        """Have an optimizer average its gradients."""
        self.wraps += 1
        edits = self.draft.editor(unit).around(node, f"{self.name(unit, self.wrapper)}(")
        self.draft.done("NPU385", unit, node, "its gradients are averaged over the cards", edits, helper=False)

    def name(self, unit: Unit, wanted: str) -> str:
        """How a file writes a name of the adapter, which is imported for it."""
        return wanted

    def spelled(self, unit: Unit, wanted: str) -> str:
        """As :meth:`name`, for text that is compared or told, not written."""
        return wanted

    def send(self, unit: Unit) -> None:
        """Give all ranks the same variables."""

    def end(self) -> None:
        """What is known when all files have been read."""
        entry = self.program.entry
        if not self.wraps:
            self.draft.left(
                "NPU385",
                entry,
                entry.source.tree,
                "no optimizer was found, so that nothing averages gradients",
                phrase("wrap the optimizer that trains with {wrapper}()", wrapper=self.wrapper),
            )
        if not self.sends:
            self.draft.left(
                "NPU386",
                entry,
                entry.source.tree,
                "no place was found where all variables are there and training has not begun",
                "broadcast the variables from rank 0 there; see docs/tensorflow.md",
            )

    def share(self, unit: Unit) -> None:
        """Give each rank its part of the data that it trains on, where that is sure."""
        own = [call for other, call in self.datasets if other is unit]
        trains = self._trained_on(unit)
        if not trains and len(self.datasets) == 1 and own:
            trains = own
        for call in own:
            if call not in trains:
                self.draft.left(
                    "NPU387",
                    unit,
                    call,
                    "whether this data is trained on is not known, and it was not shared out",
                    phrase(
                        "if it is, put .shard({rank}) right behind it; data to evaluate on stays whole", rank=self.rank
                    ),
                )
        for call in trains:
            self._share(unit, call)

    def _share(self, unit: Unit, source: ast.Call) -> None:
        chain = list(chain_of(unit, source))
        at, against = extent_of(unit, source, chain)
        if against:
            self.draft.left(
                "NPU387",
                unit,
                at,
                phrase("the data goes through .{attr}(), and was not shared out", attr=against),
                phrase(
                    "put .shard({rank}) where the training data has its final extent, before it is shuffled",
                    rank=self.rank,
                ),
            )
            return
        editor = self.draft.editor(unit)
        edits: list[Edit] = [editor.insert(unit.source.end(at), f".shard({self.needs_rank(unit)})")]
        for one in chain:
            given = {keyword.arg for keyword in one.keywords}
            if isinstance(one.func, ast.Attribute) and one.func.attr == "batch" and "drop_remainder" not in given:
                if len(one.args) < 2 and None not in given:
                    edits.append(editor.argument(one, "drop_remainder=True"))
        self.draft.done(
            "NPU387", unit, source, "each card trains on its share, in batches of one size", edits, helper=False
        )

    def needs_rank(self, unit: Unit) -> str:
        """The arguments of ``shard``."""
        return self.rank

    def fits(self, unit: Unit) -> Iterator[tuple[ast.Call, ast.expr]]:
        """The calls of ``fit`` that may be Keras's, with the model: no methods of classes that derive from none."""
        plain = {
            node.name
            for other in self.program.units
            for node in other.nodes
            if isinstance(node, ast.ClassDef) and all(getattr(base, "id", "") == "object" for base in node.bases)
        }
        for call in calls(unit):
            func = call.func
            if not (isinstance(func, ast.Attribute) and func.attr == "fit"):
                continue
            made = [one for one in values(unit, func.value, call) if isinstance(one, ast.Call)]
            names = {unit.qualname(one.func) or unit.source.code(one.func) for one in made}
            if not any(name.rpartition(".")[2] in plain or name.startswith("sklearn.") for name in names):
                yield call, func.value

    def _trained_on(self, unit: Unit) -> list[ast.Call]:
        """Sources of data of what ``fit`` is given first."""
        found: list[ast.Call] = []
        for call, _ in self.fits(unit):
            given = call.args[0] if call.args else next((one.value for one in call.keywords if one.arg == "x"), None)
            if given is None:
                continue
            sources = sources_of(unit, given, call)
            found += sources
            is_alone = len(call.args) < 2 and not any(keyword.arg == "y" for keyword in call.keywords)
            if is_alone and not sources:
                self.draft.left(
                    "NPU387",
                    unit,
                    call,
                    "where the data of fit() comes from is not known, and it was not shared out",
                    phrase("put .shard({rank}) where it begins, before it is shuffled and batched", rank=self.rank),
                )
            if len(call.args) > 1 or any(keyword.arg == "y" for keyword in call.keywords):
                self.draft.left(
                    "NPU387",
                    unit,
                    call,
                    "fit() is given arrays, which every card would train on as a whole",
                    phrase(
                        "make a tf.data.Dataset of them, .shard({rank}) and .batch(..., drop_remainder=True)",
                        rank=self.rank,
                    ),
                )
        return list(dict.fromkeys([*found, *looped_over(unit)]))
