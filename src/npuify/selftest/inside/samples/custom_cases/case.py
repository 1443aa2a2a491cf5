"""An operator with arguments, and the same mathematics in PyTorch's own operators."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class Case:
    name: str
    shapes: dict[str, tuple[int, ...]]
    call: Callable[..., Any]
    reference: Callable[..., Any]
    fixed: dict[str, torch.Tensor] = field(default_factory=dict)
    positive: tuple[str, ...] = ()
    without_gradient: tuple[str, ...] = ()
    gradient_of: tuple[int, ...] = (0,)
    """Outputs through which both sides are differentiated; empty: not differentiable."""
    low_precision: bool = True
    values_only: tuple[int, ...] | None = None

    def inputs(self, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        made = {}
        generator = torch.Generator().manual_seed(3)
        for name, shape in self.shapes.items():
            tensor = torch.randn(shape, generator=generator, dtype=torch.float64)
            if name in self.positive:
                tensor = tensor.abs() + 0.1
            made[name] = tensor.to(dtype)
            if name not in self.without_gradient and self.gradient_of:
                made[name].requires_grad_(True)
        return made


def npu() -> Any:
    return torch.ops.npu
