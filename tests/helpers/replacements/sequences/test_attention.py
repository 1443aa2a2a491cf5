"""Deformable attention against a loop over samples."""

from __future__ import annotations

import itertools
import math
from typing import Any

from tests.helpers.replacements.common import along, close, module, numbers, torch

SHAPES = torch.tensor([[3, 4], [2, 2], [1, 5]])
STARTS = torch.tensor([0, 12, 16])


def _bilinear(plane: Any, y: float, x: float) -> Any:
    """The value at a place, zeros around the plane."""
    height, width = plane.shape[:2]
    if not (-1 < y < height and -1 < x < width):
        return torch.zeros_like(plane[0, 0])
    top, left = math.floor(y), math.floor(x)
    total = torch.zeros_like(plane[0, 0])
    for row, column in itertools.product((top, top + 1), (left, left + 1)):
        if 0 <= row < height and 0 <= column < width:
            total = total + plane[row, column] * (1 - abs(y - row)) * (1 - abs(x - column))
    return total


def _written_out(value: Any, where: Any, weight: Any) -> Any:
    batch, queries, heads, levels, points, _ = where.shape
    out = torch.zeros(batch, queries, heads, value.shape[3], dtype=torch.float64)
    for n, q, m, level, p in itertools.product(*map(range, (batch, queries, heads, levels, points))):
        height, width = SHAPES[level].tolist()
        start = int(STARTS[level])
        plane = value[n, start : start + height * width, m].reshape(height, width, -1)
        x, y = where[n, q, m, level, p].tolist()
        out[n, q, m] += _bilinear(plane, y * height - 0.5, x * width - 0.5) * weight[n, q, m, level, p]
    return out.reshape(batch, queries, -1)


def _case(batch: int = 2) -> tuple[Any, Any, Any]:
    value = numbers(batch, 21, 2, 3)
    where = numbers(batch, 4, 2, 3, 2, 2, seed=1, low=-0.4, high=1.4)
    return value, where, numbers(batch, 4, 2, 3, 2, seed=2)


def test_forward() -> None:
    value, where, weight = _case()
    forward = module("ms_deform_attn").ms_deform_attn_forward
    wanted = _written_out(value, where, weight)
    close(forward(value, SHAPES, STARTS, where, weight, 64), wanted)
    close(forward(value.float(), SHAPES, STARTS, where.float(), weight.float(), 1), wanted, 1e-4)


def test_places_on_the_border_and_far_outside() -> None:
    value, where, weight = _case(1)
    where[..., 0] = torch.tensor([-0.125, 1.125])  # a level of width 4: x of -1 and 4
    where[0, 0], where[0, 1] = 1e6, 0.0
    close(
        module("ms_deform_attn").ms_deform_attn_forward(value, SHAPES, STARTS, where, weight, 64),
        _written_out(value, where, weight),
    )
    where[0, 2] = math.nan
    made = module("ms_deform_attn").ms_deform_attn_forward(value, SHAPES, STARTS, where, weight, 64)
    assert made[0, 2].abs().sum() == 0


def test_backward() -> None:
    value, where, weight = _case(1)
    out = numbers(1, 4, 6, seed=7)
    made = module("ms_deform_attn").ms_deform_attn_backward(value, SHAPES, STARTS, where, weight, out, 64)
    for which, grad in enumerate(made):
        along(_written_out, [value, where, weight], which, out, grad)
