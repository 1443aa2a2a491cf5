from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def size(x: torch.Tensor) -> int:
    return x.numel()
