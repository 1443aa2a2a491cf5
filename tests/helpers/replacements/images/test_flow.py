"""Operators of optical flow against loops over pixels and displacements."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tests.helpers.replacements.common import along, close, differences, module, numbers, torch


def _product(one: Any, two: Any, pad: int, reach: int, step: int) -> Any:
    batch, _, height, width = one.shape
    side, high, wide = reach // step * 2 + 1, height + 2 * (pad - reach), width + 2 * (pad - reach)
    out = torch.zeros(batch, side * side, high, wide, dtype=torch.float64)
    for n, j, i, y, x in itertools.product(*map(range, (batch, side, side, high, wide))):
        ya, xa = y + reach - pad, x + reach - pad
        yb, xb = ya + (j - side // 2) * step, xa + (i - side // 2) * step
        if min(ya, xa, yb, xb) >= 0 and max(ya, yb) < height and max(xa, xb) < width:
            out[n, j * side + i, y, x] = (one[n, :, ya, xa] * two[n, :, yb, xb]).mean()
    return out


@pytest.mark.parametrize(("pad", "reach", "step"), [(2, 2, 1), (4, 4, 2), (3, 3, 2), (1, 2, 1), (3, 2, 2)])
def test_correlation(pad: int, reach: int, step: int) -> None:
    flow, one, two = module("flow"), numbers(2, 3, 5, 6), numbers(2, 3, 5, 6, seed=1)
    wanted, none = _product(one, two, pad, reach, step), one.new_empty(0)
    out = one.new_empty(0)
    assert flow.correlation_forward(one, two, none, none, out, pad, 1, reach, 1, step, 1) == 1
    close(out, wanted)
    grad, made = numbers(*wanted.shape, seed=3), [one.new_empty(0), one.new_empty(0)]
    flow.correlation_backward(one, two, none, none, grad, *made, pad, 1, reach, 1, step, 1)
    along(lambda given: _product(given, two, pad, reach, step), [one], 0, grad, made[0])
    along(lambda given: _product(one, given, pad, reach, step), [two], 0, grad, made[1])


def test_what_correlation_is_not_made_for() -> None:
    flow, image = module("flow"), numbers(1, 1, 4, 4)
    for kernel, stride in ((3, 1), (1, 2)):
        with pytest.raises(NotImplementedError):
            flow.correlation_forward(image, image, image, image, image, 4, kernel, 4, stride, 1, 1)


def test_channelnorm() -> None:
    flow, image = module("flow"), numbers(2, 3, 4, 5)
    wanted = torch.tensor(
        [
            math.sqrt(sum(v * v for v in image[n, :, y, x].tolist()))
            for n in range(2)
            for y in range(4)
            for x in range(5)
        ]
    )
    out, grad = image.new_empty(2, 1, 4, 5), numbers(2, 1, 4, 5, seed=1)
    flow.channelnorm_forward(image, out, 2)
    close(out.flatten(), wanted, 1e-6)
    made = torch.empty_like(image)
    flow.channelnorm_backward(image, out, grad, made, 2)
    close(made, differences(lambda one: (one**2).sum(1, keepdim=True) ** 0.5, [image], 0, grad), 1e-5)


def _inside(at: int, size: int) -> int:
    return max(min(at, size - 1), 0)


def _warped(image: Any, flow: Any, bilinear: bool) -> Any:
    height, width = image.shape[2:]
    out = torch.zeros_like(image)
    for n, c, y, x in itertools.product(*map(range, image.shape)):
        at_x, at_y = x + flow[n, 0, y, x].item(), y + flow[n, 1, y, x].item()
        if not bilinear:
            out[n, c, y, x] = image[
                n, c, _inside(math.floor(at_y + 0.5), height), _inside(math.floor(at_x + 0.5), width)
            ]
            continue
        left, top = math.floor(at_x), math.floor(at_y)
        for row, column in itertools.product((top, top + 1), (left, left + 1)):
            share = (1 - abs(at_y - row)) * (1 - abs(at_x - column))
            out[n, c, y, x] += share * image[n, c, _inside(row, height), _inside(column, width)]
    return out


def test_resample2d() -> None:
    module_, image, flow = module("flow"), numbers(2, 2, 4, 5), numbers(2, 2, 4, 5, seed=1, low=-3, high=3)
    for bilinear in (True, False):
        out = torch.empty_like(image)
        module_.resample2d_forward(image, flow, out, 1, bilinear)
        close(out, _warped(image, flow, bilinear))
    grad, made = numbers(2, 2, 4, 5, seed=2), [torch.zeros_like(image), torch.zeros_like(flow)]
    inside = numbers(2, 2, 4, 5, seed=3, low=0, high=0.9)  # nothing leads out at the left or above
    module_.resample2d_backward(image, inside, grad, *made, 1, True)
    along(lambda one: _warped(one, inside, True), [image], 0, grad, made[0])
    along(lambda one: _warped(image, one, True), [inside], 0, grad, made[1])


def test_the_gradient_of_the_image_is_cut_towards_zero_as_in_the_kernel() -> None:
    image, flow = (
        torch.zeros(1, 1, 1, 2, dtype=torch.float64),
        torch.tensor([[[[-0.25, 0.0]], [[0.0, 0.0]]]], dtype=torch.float64),
    )
    made = [torch.zeros_like(image), torch.zeros_like(flow)]
    module("flow").resample2d_backward(image, flow, torch.tensor([[[[1.0, 0.0]]]]).double(), *made, 1, True)
    # The shares are 1 - (-0.25) and -0.25, both at the first pixel.
    close(made[0], torch.tensor([[[[1.25 - 0.25, 0.0]]]]).double())
