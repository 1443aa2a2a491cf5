# mypy: ignore-errors
"""The product with a Hadamard matrix in natural order, over the last dimension, times a factor.

A size that is no power of two is filled up with zeros, and what is beyond it left out. Two products with small
matrices, in float32, take the place of the butterflies; differentiable.
"""

import torch


def _matrix(size, like):
    made = torch.ones(1, 1, dtype=like.dtype, device=like.device)
    while made.shape[0] < size:
        made = torch.cat([torch.cat([made, made], 1), torch.cat([made, -made], 1)], 0)
    return made


def fast_hadamard_transform(x, scale):
    """``x @ H * scale`` in the type of ``x``."""
    size, power = x.shape[-1], 8
    while power < size:
        power *= 2
    wide = x if x.dtype == torch.float64 else x.float()
    rows = torch.nn.functional.pad(wide.reshape(-1, size), (0, power - size))
    left = 1
    while left * left < power:
        left *= 2
    grid = rows.reshape(-1, left, power // left)
    grid = _matrix(left, grid) @ grid @ _matrix(power // left, grid)
    return (grid.reshape(-1, power)[:, :size] * scale).to(x.dtype).reshape(x.shape)
