"""Correlations around coordinates against loops over pixels."""

from __future__ import annotations

import itertools
import math
from typing import Any

from tests.helpers.replacements.common import along, close, differences, module, numbers, torch

RADIUS = 1


def _written_out(one: Any, two: Any, coords: Any) -> Any:
    """The product with the bilinear sample of ``two`` at each displaced place, zeros outside."""
    batch, number, height, width, _ = coords.shape
    side = 2 * RADIUS + 1
    out = torch.zeros(batch, number, side * side, height, width, dtype=torch.float64)
    for n, k, y, x, i, j in itertools.product(*map(range, (batch, number, height, width, side, side))):
        at_x, at_y = (coords[n, k, y, x] + torch.tensor([i - RADIUS, j - RADIUS])).tolist()
        left, top = math.floor(at_x), math.floor(at_y)
        for row, column in itertools.product((top, top + 1), (left, left + 1)):
            if 0 <= row < two.shape[1] and 0 <= column < two.shape[2]:
                share = (1 - abs(at_y - row)) * (1 - abs(at_x - column))
                out[n, k, i * side + j, y, x] += share * (one[n, y, x] * two[n, row, column]).sum()
    return out


def test_products_where_they_are_asked_for() -> None:
    lookup = module("correlation_lookup")
    one, two = numbers(2, 2, 3, 4), numbers(2, 4, 3, 4, seed=1)
    coords = numbers(2, 2, 2, 3, 2, seed=2, low=-3, high=5)
    coords[0, 0, 0, 0] = torch.tensor([1.0, 2.0])  # on a pixel
    coords[0, 0, 0, 1] = torch.tensor([900.0, -900.0])
    (made,) = lookup.alternate_forward(one, two, coords, RADIUS)
    close(made, _written_out(one, two, coords))
    weight = numbers(*made.shape, seed=4)
    made = lookup.alternate_backward(one, two, coords, weight, RADIUS)
    along(lambda given: _written_out(given, two, coords), [one], 0, weight, made[0])
    along(lambda given: _written_out(one, given, coords), [two], 0, weight, made[1])
    assert made[2].shape == coords.shape
    assert not made[2].any()


def _read_out(volume: Any, coords: Any) -> Any:
    batch, height, width, wide = volume.shape
    out = torch.zeros(batch, 2 * RADIUS + 1, height, width, dtype=torch.float64)
    for n, y, x, i in itertools.product(*map(range, (batch, height, width, 2 * RADIUS + 1))):
        at = coords[n, 0, y, x].item() + i - RADIUS
        for column in (math.floor(at), math.floor(at) + 1):
            if 0 <= column < wide:
                out[n, i, y, x] += (1 - abs(at - column)) * volume[n, y, x, column]
    return out


def test_values_read_from_a_volume() -> None:
    lookup = module("correlation_lookup")
    volume, coords = numbers(2, 3, 2, 5), numbers(2, 1, 3, 2, seed=1, low=-3, high=8).float()
    coords[0, 0, 0] = torch.tensor([2.0, 400.0])
    (made,) = lookup.sampler_forward(volume, coords, RADIUS)
    close(made, _read_out(volume, coords), 1e-6)
    weight = numbers(*made.shape, seed=2)
    (grad,) = lookup.sampler_backward(volume, coords, weight, RADIUS)
    close(grad, differences(lambda given: _read_out(given, coords), [volume], 0, weight), 1e-5)
    assert lookup.sampler_forward(volume.half(), coords, RADIUS)[0].dtype == torch.float16
