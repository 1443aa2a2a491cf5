"""A program: the entry point with the files that it imports, after the migration, and what is known of it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from npuify.analysis.values import Kind, Value
from npuify.distribute.reading.holders import Holders
from npuify.distribute.reading.proofs import Proofs
from npuify.distribute.reading.questions import Function, Questions
from npuify.distribute.reading.units import Unit

if TYPE_CHECKING:
    import ast


class Program(Questions):
    """What :class:`Questions` gives, and what the use of things proves."""

    @cached_property
    def holders(self) -> Holders:
        return Holders(self)

    @cached_property
    def proofs(self) -> Proofs:
        """What is known to be a model by what is done with it alone."""
        return Proofs(self, self.holders)

    def models(self, node: ast.AST | None, unit: Unit) -> list[Value]:
        """The models that an expression may stand for."""
        known = self.of_kind(node, unit, Kind.MODEL)
        return known or ([Value(Kind.MODEL)] if node is not None and self.proofs.prove(node, unit) else [])


__all__ = ["Function", "Program", "Unit"]
