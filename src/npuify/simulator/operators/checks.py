"""Checks that several operators make of their arguments, with the operator's name in what they raise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterable

LOW = (torch.float16, torch.bfloat16)


def require(holds: bool, operator: str, message: str) -> None:
    """Raise what a refused call raises.

    Raises:
        RuntimeError: ``holds`` is false.
    """
    if not holds:
        raise RuntimeError(f"{operator}: {message} (simulated NPU)")


def require_dtype(tensor: torch.Tensor, allowed: Iterable[torch.dtype], operator: str, argument: str) -> None:
    """Check a tensor's type.

    float64 is let through everywhere: the real device has no such kernels, but a simulation is checked in it.
    """
    names = tuple(allowed)
    require(
        tensor.dtype in names or tensor.dtype is torch.float64,
        operator,
        f"{argument} has the type {tensor.dtype}; supported are {', '.join(str(name) for name in names)}",
    )


def working(tensor: torch.Tensor) -> torch.dtype:
    """The type in which a fused kernel keeps what it computes between its steps: float32 for half types."""
    return torch.float32 if tensor.dtype in LOW else tensor.dtype


def is_abstract(*tensors: torch.Tensor) -> bool:
    """Whether a tensor has no values: a fake or meta tensor."""
    from torch._subclasses.fake_tensor import FakeTensor

    return any(tensor.is_meta or isinstance(tensor, FakeTensor) for tensor in tensors)
