"""The table of simulated ``npu::`` operators: what computes each, what gets a gradient, and where its meaning is from.

This room runs inside the user's program, so it imports nothing but the standard library and torch.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Formula = Callable[[Any, tuple[Any, ...], tuple[Any, ...]], tuple[Any, ...]]


_FIRST = ("input", "self", "x")
"""Names of a first argument that stand for each other: schemas as registered say ``input`` where lists say ``self``."""


@dataclass(frozen=True)
class Operator:
    """One row: an operator of the ``npu`` namespace and how it is computed with plain PyTorch."""

    name: str
    """As schemas spell it, with its overload: ``npu_rms_norm``, ``npu_max.dim``."""
    function: Callable[..., Any]
    """Takes the schema's arguments by their names. Arguments that it does not take must be left at their default."""
    source: str
    """Where its mathematics are published."""
    evidence: str
    """As :class:`npuify.model.Evidence` spells it."""
    gradients: tuple[str, ...] = ()
    """Inputs that get a gradient, in the order in which ``formula`` gives them; empty: it is not differentiable."""
    outputs: tuple[int, ...] = (0,)
    """Outputs through which gradients flow."""
    formula: Formula | None = None
    """Backward as the package does it: from the inputs (by name), the outputs and the outputs' gradients to the
    gradients of ``gradients``, by calling the package's own backward operator. None: ``function`` is differentiated."""
    note: str = ""
    """What the simulation does otherwise than the real operator."""

    @cached_property
    def accepted(self) -> frozenset[str] | None:
        """Names of the arguments that ``function`` takes; None: any."""
        parameters = inspect.signature(self.function).parameters.values()
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            return None
        return frozenset(parameter.name for parameter in parameters)

    def own_name(self, argument: str) -> str:
        """The name that ``function`` has for an argument of a schema."""
        if self.accepted is None or argument in self.accepted or argument not in _FIRST:
            return argument
        return next((other for other in _FIRST if other in self.accepted), argument)

    def named(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """A schema's arguments under the names that ``function`` has for them."""
        return {self.own_name(name): value for name, value in arguments.items()}

    def takes(self, argument: str) -> bool:
        """Whether ``function`` takes an argument of that name."""
        return self.accepted is None or argument in self.accepted


TABLE: dict[str, Operator] = {}

DOCUMENTS = "Ascend/op-plugin@517f2e7d docs/zh/custom_APIs/torch_npu/"
DERIVATIVES = "Ascend/op-plugin@517f2e7d op_plugin/config/derivatives.yaml"


def operator(
    name: str,
    *,
    source: str = "",
    evidence: str = "documented",
    gradients: tuple[str, ...] = (),
    outputs: tuple[int, ...] = (0,),
    formula: Formula | None = None,
    note: str = "",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Put the decorated function into the table.

    Args:
        name: the operator with its overload, without ``npu::``.
        source: where the definition stands; by default the page of that name in the vendor's documentation.
        gradients: see :class:`Operator`; they follow the package's derivatives.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if name in TABLE:
            raise ValueError(f"operator {name} is in the table twice")
        where = source or f"{DOCUMENTS}torch_npu-{name.partition('.')[0]}.md"
        TABLE[name] = Operator(name, function, where, evidence, gradients, outputs, formula, note)
        return function

    return register
