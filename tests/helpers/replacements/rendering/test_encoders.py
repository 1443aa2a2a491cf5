"""Encoders of radiance fields against their definitions, point by point."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tests.helpers.replacements.common import along, close, module, numbers, torch


@pytest.mark.parametrize("degree", [1, 2, 4, 8])
def test_spherical_harmonics_are_orthonormal_harmonic_polynomials(degree: int) -> None:
    """Over the sphere, by a rule of quadrature that is exact for their products."""
    encoders, count = module("encoders"), 24
    at = (torch.arange(count, dtype=torch.float64) + 0.5) * math.pi / count
    z = torch.cos(at)  # places of Chebyshev, with Fejer's weights
    weight = torch.stack(
        [
            2 / count * (1 - 2 * sum(torch.cos(2 * k * one) / (4 * k * k - 1) for k in range(1, count // 2 + 1)))
            for one in at
        ]
    )
    phi = torch.arange(count, dtype=torch.float64) * 2 * math.pi / count
    radius = (1 - z * z).sqrt()[:, None]
    points = torch.stack([radius * phi.cos(), radius * phi.sin(), z[:, None].expand(-1, count)], -1).reshape(-1, 3)
    out = torch.empty(len(points), degree**2, dtype=torch.float64)
    encoders.sh_encode_forward(points, out, len(points), 3, degree, None)
    area = (weight[:, None] * torch.full((1, count), 2 * math.pi / count)).reshape(-1, 1)
    close(out.t() @ (out * area), torch.eye(degree**2, dtype=torch.float64), 1e-5)


def test_the_first_harmonics_and_all_slopes() -> None:
    encoders, points = module("encoders"), numbers(6, 3)
    out, slopes = torch.empty(6, 64, dtype=torch.float64), torch.empty(6, 3 * 64, dtype=torch.float64)
    encoders.sh_encode_forward(points, out, 6, 3, 8, slopes)
    x, y, z = points.unbind(-1)
    one, two = math.sqrt(3 / math.pi) / 2, math.sqrt(15 / math.pi) / 2
    first = [torch.full_like(x, 0.5 / math.sqrt(math.pi)), -one * y, one * z, -one * x]
    first += [
        two * x * y,
        -two * y * z,
        math.sqrt(5 / math.pi) / 4 * (3 * z * z - 1),
        -two * x * z,
        two / 2 * (x * x - y * y),
    ]
    close(out[:, :9], torch.stack(first, -1))

    def again(points: Any) -> Any:
        made = torch.empty(6, 64, dtype=torch.float64)
        encoders.sh_encode_forward(points, made, 6, 3, 8, None)
        return made

    grad, made = numbers(6, 64, seed=2), torch.zeros_like(points)
    encoders.sh_encode_backward(grad, points, 6, 3, 8, slopes, made)
    along(again, [points], 0, grad, made)


def test_frequencies() -> None:
    encoders, points = module("encoders"), numbers(4, 3)

    def again(points: Any) -> Any:
        out = torch.zeros(4, 15, dtype=torch.float64)
        for b, c in itertools.product(range(4), range(15)):
            octave, d = c // 3 - 1, c % 3
            angle = points[b, d].item() * 2 ** (octave // 2)
            out[b, c] = points[b, d] if c < 3 else math.sin(angle) if octave % 2 == 0 else math.cos(angle)
        return out

    out, made = torch.empty(4, 15, dtype=torch.float64), torch.empty(4, 3, dtype=torch.float64)
    encoders.freq_encode_forward(points, 4, 3, 2, 15, out)
    close(out, again(points))
    grad = numbers(4, 15, seed=1)
    encoders.freq_encode_backward(grad, out, 4, 3, 2, 15, made)
    along(again, [points], 0, grad, made)


# --- grids ---

LEVELS, BASE, STEP, SIZES = 3, 4, 0.7, (30, 64, 40)


def _row(corner: list[int], size: int, resolution: int, gridtype: int, align: bool) -> int:
    stride, index = 1, 0
    for place in corner:
        if stride <= size:
            index += place * stride
            stride *= resolution if align else resolution + 1
    if gridtype == 0 and stride > size:
        index = 0
        for place, prime in zip(corner, (1, 2654435761, 805459861), strict=False):
            index ^= place * prime & 0xFFFFFFFF
    return index % size


def _grid(points: Any, table: Any, gridtype: int, align: bool, smooth: bool) -> Any:
    count, dimensions = points.shape
    out, begin = torch.zeros(LEVELS, count, table.shape[1], dtype=torch.float64), 0
    for level, size in enumerate(SIZES):
        scale = 2 ** (level * STEP) * BASE - 1
        for b in range(count):
            if not all(0 <= one <= 1 for one in points[b].tolist()):
                continue
            at = [one * scale + (0 if align else 0.5) for one in points[b].tolist()]
            low = [math.floor(one) for one in at]
            share = [one - below for one, below in zip(at, low, strict=True)]
            share = [one * one * (3 - 2 * one) for one in share] if smooth else share
            for upper in itertools.product((0, 1), repeat=dimensions):
                weight = math.prod(one if up else 1 - one for one, up in zip(share, upper, strict=True))
                row = _row(
                    [a + b for a, b in zip(low, upper, strict=True)], size, math.ceil(scale) + 1, gridtype, align
                )
                out[level, b] += weight * table[begin + row]
        begin += size
    return out


@pytest.mark.parametrize(("gridtype", "align", "smooth"), [(0, False, 0), (1, False, 1), (0, True, 1), (1, True, 0)])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_grids(dimensions: int, gridtype: int, align: bool, smooth: int) -> None:
    encoders, points = module("encoders"), numbers(5, dimensions, low=0.02, high=0.98)
    points[4, 0] = 1.5  # outside
    table, offsets = numbers(sum(SIZES), 2, seed=1), torch.tensor([0, 30, 94, 134], dtype=torch.int32)
    sizes = (5, dimensions, 2, LEVELS, STEP, BASE)
    out, slopes = (
        torch.empty(LEVELS, 5, 2, dtype=torch.float64),
        torch.empty(5, LEVELS * dimensions * 2, dtype=torch.float64),
    )
    encoders.grid_encode_forward(points, table, offsets, out, *sizes, slopes, gridtype, align, smooth)
    close(out, _grid(points, table, gridtype, align, bool(smooth)), 1e-5)
    grad, of_table, of_points = numbers(LEVELS, 5, 2, seed=2), torch.zeros_like(table), torch.zeros_like(points)
    encoders.grid_encode_backward(
        grad, points, table, offsets, of_table, *sizes, slopes, of_points, gridtype, align, smooth
    )
    along(lambda one: _grid(points, one, gridtype, align, bool(smooth)), [table], 0, grad, of_table, 1e-4)
    along(lambda one: _grid(one, table, gridtype, align, bool(smooth)), [points], 0, grad, of_points, 1e-3)
