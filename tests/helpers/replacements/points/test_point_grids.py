"""GRNet's grids of points against loops over points, in double precision, and finite differences."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tests.helpers.replacements.common import close, differences, module, numbers, torch

RANGES = (-2, 2, -1, 2, -2, 1)


def _spread(points: Any, each: bool) -> Any:
    sizes = [RANGES[2 * axis + 1] - RANGES[2 * axis] + 1 for axis in range(3)]
    out = torch.zeros(len(points), math.prod(sizes), 8, dtype=torch.float64)
    for b, n in itertools.product(range(len(points)), range(points.shape[1])):
        for side, bits in enumerate(itertools.product((0, 1), repeat=3)):
            place, weight = 0, 1.0
            for axis in range(3):
                corner = math.floor(float(points[b, n, axis])) + bits[axis]
                place = place * sizes[axis] + corner - RANGES[2 * axis]
                weight = weight * (1 - abs(points[b, n, axis] - corner))
            out[b, place, side] += weight
    return out if each else out.sum(-1)


@pytest.mark.parametrize("each", [False, True])
def test_gridding(each: bool) -> None:
    grids, points = module("point_grids"), numbers(2, 6, 3, low=-0.99, high=0.99)
    points[0, 0] = torch.tensor([0.0, 1.0, -1.0])  # on a corner
    forward = grids.distance_forward if each else grids.gridding_forward
    grid, weights, places = forward(*RANGES, points)
    close(grid, _spread(points, each))
    assert places.dtype == torch.int32
    points[0, 0] = torch.tensor([0.3, 0.9, -0.2])
    grid, weights, places = forward(*RANGES, points)
    grad = numbers(*grid.shape, seed=1)
    backward = grids.distance_backward if each else grids.gridding_backward
    close(backward(weights, places, grad), differences(lambda one: _spread(one, each), [points], 0, grad), 1e-6)


def _reversed(grid: Any, scale: int) -> Any:
    out = torch.zeros(len(grid), scale, scale, scale, 3, dtype=torch.float64)
    shaped = grid.reshape(-1, scale, scale, scale)
    for b, x, y, z in itertools.product(range(len(grid)), *[range(1, scale)] * 3):
        corners = list(itertools.product((x - 1, x), (y - 1, y), (z - 1, z)))
        total = sum(shaped[(b, *one)] for one in corners)
        if total >= 1e-6:
            for one in corners:
                at = torch.tensor(one, dtype=torch.float64) - scale // 2
                out[b, x, y, z] = out[b, x, y, z] + shaped[(b, *one)] / total * at
    return out.reshape(len(grid), -1, 3)


def test_a_grid_as_points() -> None:
    grids, grid = module("point_grids"), numbers(2, 64, low=0, high=1)
    grid[0, :30] = 0  # cells without weight
    points = grids.rev_forward(4, grid)
    close(points, _reversed(grid, 4))
    grid = numbers(1, 27, low=0.1, high=1)
    grad = numbers(1, 27, 3, seed=1)
    made = grids.rev_backward(grids.rev_forward(3, grid), grid, grad)
    close(made, differences(lambda one: _reversed(one, 3), [grid], 0, grad), 1e-6)
    empty = torch.zeros(1, 27, dtype=torch.float64)
    assert not grids.rev_backward(grids.rev_forward(3, empty), empty, grad).any()


@pytest.mark.parametrize("size", [1, 2])
def test_features_of_corners(size: int) -> None:
    grids, points = module("point_grids"), numbers(2, 5, 3, low=-0.9, high=4.9)
    points[0, 0] = torch.tensor([0.0, 1.0, 2.0])
    features, number = numbers(2, 3, 4, 4, 4, seed=1), (2 * size) ** 3

    def sampled(features: Any) -> Any:
        out = torch.zeros(2, 5, number, 3, dtype=torch.float64)
        for b, n in itertools.product(range(2), range(5)):
            low = [math.floor(float(one)) - (size - 1) for one in points[b, n]]
            for side, at in enumerate(itertools.product(*[range(one, one + 2 * size) for one in low])):
                if all(0 <= one < 4 for one in at):
                    out[b, n, side] = features[(b, slice(None), *at)]
        return out

    found, places = grids.cubic_forward(4, size, points, features)
    close(found, sampled(features))
    grad = numbers(2, 5, number, 3, seed=2)
    of_points, of_features = grids.cubic_backward(4, size, grad, places)
    assert of_points.shape == points.shape
    assert not of_points.any()
    close(of_features, differences(sampled, [features], 0, grad), 1e-6)
