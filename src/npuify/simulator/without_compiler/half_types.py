"""Products of half types are computed in float32 and rounded once, as an NPU does and the CPU's kernels do slowly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_HALF_TYPES = (torch.float16, torch.bfloat16)


def half_type(values: Iterable[Any]) -> torch.dtype | None:
    """The half type that all tensors of floating types among the arguments of an operator have; None: they differ."""
    types = {value.dtype for value in values if _is_floating(value)}
    (only,) = types if len(types) == 1 else (None,)
    return only if only in _HALF_TYPES else None


def in_float(
    op: Any, args: Sequence[Any], kwargs: dict[str, Any], out: dict[str, torch.Tensor], half: torch.dtype
) -> Any:
    """Call an operator in float32.

    Args:
        op: the operator.
        args, kwargs: its arguments, CPU tensors; those that it writes to get what it writes.
        out: the tensors for its results; they get other memory.
        half: the type of all of them.
    """
    wide_args = [_widened(value) for value in args]
    wide_out = {name: torch.empty(0) for name in out}
    result = op(*wide_args, **{name: _widened(value) for name, value in kwargs.items()}, **wide_out)
    written = {
        index
        for index, argument in enumerate(op._schema.arguments[: len(args)])
        if argument.alias_info is not None and argument.alias_info.is_write
    }
    for index in written:
        args[index].copy_(wide_args[index])
    for name, made in wide_out.items():
        out[name].data = made.to(half)
    return tuple(_narrowed(one, half) for one in result) if isinstance(result, tuple) else _narrowed(result, half)


def _is_floating(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.layout is torch.strided


def _widened(value: Any) -> Any:
    return value.float() if _is_floating(value) else value


def _narrowed(value: Any, half: torch.dtype) -> Any:
    return value.to(half) if _is_floating(value) and value.dtype is torch.float32 else value
