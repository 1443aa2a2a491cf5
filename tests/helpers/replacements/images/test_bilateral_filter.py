"""The bilateral filter against loops over voxels, and finite differences."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tests.helpers.replacements.common import close, differences, module, numbers, torch

WIDTHS = ((0.7, 0.5, 0.9, 0.4), (1.3, 0.6, 0.5, 1.1))
SHAPES = ((1, 1, 4, 3, 5), (2, 1, 2, 6, 1), (1, 1, 8, 2, 2))


def half(width: float) -> int:
    return max(math.ceil(5 * width) | 1, 5) // 2


def by_voxels(volume: Any, *widths: Any) -> Any:
    """The filter by its definition: a mean of what lies in the window and in the volume."""
    x, y, z, color = (float(one) for one in widths)
    found, sizes = torch.zeros_like(volume), volume.shape[2:]
    for n, *at in itertools.product(range(len(volume)), *(range(size) for size in sizes)):
        sums = [0.0, 0.0]
        for move in itertools.product(*(range(-half(one), half(one) + 1) for one in (x, y, z))):
            to = [place + step for place, step in zip(at, move, strict=True)]
            if all(0 <= place < size for place, size in zip(to, sizes, strict=True)):
                value = float(volume[(n, 0, *to)])
                near = sum(step**2 / width**2 for step, width in zip(move, (x, y, z), strict=True))
                weight = math.exp(-(near + (value - float(volume[(n, 0, *at)])) ** 2 / color**2) / 2)
                sums = [sums[0] + weight, sums[1] + weight * value]
        found[(n, 0, *at)] = sums[1] / sums[0]
    return found


@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize("shape", SHAPES)
def test_forward(shape: tuple[int, ...], widths: tuple[float, ...]) -> None:
    volume = numbers(*shape)
    found = module("bilateral_filter").forward_3d(volume, *widths)
    assert len(found) == 7
    close(found[0], by_voxels(volume, *widths))
    close(module("bilateral_filter").forward_3d(volume.float(), *widths)[0], found[0], 1e-5)


@pytest.mark.parametrize("widths", WIDTHS)
def test_backward(widths: tuple[float, ...]) -> None:
    filters, volume = module("bilateral_filter"), numbers(1, 1, 3, 2, 3)
    weight = numbers(1, 1, 3, 2, 3, seed=4)
    result, total, *slopes = filters.forward_3d(volume, *widths)
    made = filters.backward_3d(weight, volume, result, total, slopes[0], *widths)
    close(made, differences(lambda one: by_voxels(one, *widths), [volume], 0, weight), 1e-7)
    # The gradients of the widths are sums of what the forward pass kept: by the color's, then by x, y and z.
    given = [torch.tensor([one], dtype=torch.float64) for one in widths]
    for slope, which in zip(slopes[1:], (3, 0, 1, 2), strict=True):
        wanted = differences(lambda *one: by_voxels(volume, *one), given, which, weight)
        assert (slope * weight).sum().item() == pytest.approx(wanted.item(), rel=1e-6, abs=1e-9)


def test_widths_may_be_parameters() -> None:
    volume, widths = numbers(1, 1, 3, 3, 3), [torch.nn.Parameter(torch.tensor(one)) for one in WIDTHS[0]]
    close(module("bilateral_filter").forward_3d(volume, *widths)[0], by_voxels(volume, *WIDTHS[0]), 1e-6)


@pytest.mark.parametrize("shape", [(1, 2, 3, 3, 3), (1, 1, 3, 3)])
def test_what_it_is_not_made_for(shape: tuple[int, ...]) -> None:
    with pytest.raises(NotImplementedError):
        module("bilateral_filter").forward_3d(numbers(*shape), *WIDTHS[0])
