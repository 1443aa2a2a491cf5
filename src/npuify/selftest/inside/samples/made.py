"""Tensors for samples: the same in each process; torch is imported when one is made."""

from __future__ import annotations

from typing import Any


def numbers(*shape: int, seed: int = 3) -> Any:
    """Drawn numbers."""
    import torch

    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + len(shape)))


def whole(values: Any, kind: str = "int32") -> Any:
    """Given numbers."""
    import torch

    return torch.tensor(values, dtype=getattr(torch, kind))


def empty(*shape: int) -> Any:
    """Zeros, to be written into."""
    import torch

    return torch.zeros(shape)


def positive(*shape: int, seed: int = 3) -> Any:
    """Drawn numbers that are not near 0."""
    return numbers(*shape, seed=seed).abs() + 0.2
