"""In-place and ``out=`` forms, which follow from the plain form of the same operator."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .table import Operator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_WRITTEN = re.compile(r"Tensor\([a-z]!\)\s+(\w+)")


def derive(full: str, signature: str, table: Mapping[str, Operator]) -> Operator | None:
    """The row of ``name.out`` or ``name_`` made from the row of ``name``; None where that is not simulated.

    Args:
        full: the operator with its overload.
        signature: its arguments and results, ``(Tensor(a!) self) -> Tensor(a!)``.
    """
    name, _, overload = full.partition(".")
    parameters = signature.partition("->")[0]
    written = _WRITTEN.findall(parameters)
    if overload == "out" and written:
        plain = table.get(name)
        return None if plain is None else _row(full, plain, _into(plain, written))
    if name.endswith("_") and not overload and len(written) == 1:
        plain = table.get(name[:-1])
        return None if plain is None else _row(full, plain, _in_place(plain, written[0]))
    return None


def _row(full: str, plain: Operator, function: Callable[..., Any]) -> Operator:
    return Operator(full, function, plain.source, plain.evidence, note=plain.note)


def _into(plain: Operator, written: list[str]) -> Callable[..., Any]:
    def compute(**arguments: Any) -> Any:
        targets = [arguments.pop(name) for name in written]
        arguments.pop("workspace", None)
        results = plain.function(**plain.named(arguments))
        for target, result in zip(targets, results if isinstance(results, tuple) else (results,), strict=False):
            if target.shape != result.shape:
                target.resize_(result.shape)
            target.copy_(result)
        return targets[0] if len(targets) == 1 else tuple(targets)

    return compute


def _in_place(plain: Operator, target: str) -> Callable[..., Any]:
    def compute(**arguments: Any) -> Any:
        written = arguments[target]
        written.copy_(plain.function(**plain.named(arguments)))
        return written

    return compute
