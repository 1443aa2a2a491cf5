"""upfirdn2d and fused_bias_act against sums written out, element by element."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.helpers.replacements.common import close, differences, module, numbers, torch

UP_AND_DOWN = [
    # rows and columns of the image, those of the filter, up x, up y, down x, down y, the four paddings
    (5, 4, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1),
    (5, 4, 4, 4, 2, 2, 1, 1, 2, 1, 2, 1),
    (7, 6, 4, 4, 1, 1, 2, 2, 1, 1, 1, 1),
    (4, 5, 2, 3, 3, 2, 2, 1, 0, 4, 3, -1),
    (6, 6, 3, 3, 1, 1, 1, 1, -1, 2, 2, -2),
    (3, 3, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0),
    (4, 4, 8, 8, 4, 4, 3, 3, 6, 7, 5, 4),
]


def _written_out(image: Any, taps: Any, up_x: int, up_y: int, down_x: int, down_y: int, *pads: int) -> Any:
    """Each result is the sum over the taps: the sample at ``mid`` of the filled-up image, where there is one."""
    batch, height, width, minor = image.shape
    rows, columns = taps.shape
    x0, x1, y0, y1 = pads
    high, wide = (height * up_y + y0 + y1 - rows) // down_y + 1, (width * up_x + x0 + x1 - columns) // down_x + 1
    out = torch.zeros(batch, high, wide, minor, dtype=torch.float64)
    for n, y, x, c, i, j in itertools.product(*map(range, (batch, high, wide, minor, rows, columns))):
        row, column = y * down_y + i - y0, x * down_x + j - x0
        if row % up_y == 0 and column % up_x == 0 and 0 <= row // up_y < height and 0 <= column // up_x < width:
            out[n, y, x, c] += image[n, row // up_y, column // up_x, c] * taps[rows - 1 - i, columns - 1 - j]
    return out


@pytest.mark.parametrize("case", UP_AND_DOWN)
def test_upfirdn2d(case: tuple[int, ...]) -> None:
    height, width, rows, columns, *rest = case
    image, taps = numbers(2, height, width, 2), numbers(rows, columns, seed=3)
    upfirdn2d = module("upfirdn2d").upfirdn2d
    wanted = _written_out(image, taps, *rest)
    close(upfirdn2d(image, taps, *rest), wanted)
    close(upfirdn2d(image.float(), taps.float(), *rest), wanted, 1e-4)
    close(upfirdn2d(image.bfloat16(), taps, *rest), wanted, 0.1)


def test_the_gradients_of_upfirdn2d() -> None:
    image, taps, rest = numbers(1, 4, 3, 2), numbers(3, 3, seed=3), (2, 2, 1, 1, 1, 1, 1, 1)
    upfirdn2d = module("upfirdn2d").upfirdn2d
    weight = numbers(*upfirdn2d(image, taps, *rest).shape, seed=5)
    given = image.clone().requires_grad_()
    (upfirdn2d(given, taps, *rest) * weight).sum().backward()
    wanted = differences(lambda one: _written_out(one, taps, *rest), [image], 0, weight)
    close(given.grad, wanted, 1e-6)


def _one(x: float, bias: float, ref: float, act: int, grad: int, alpha: float, scale: float) -> float:
    x += bias
    if act == 3:
        x = {0: x if x > 0 else x * alpha, 1: x if ref > 0 else x * alpha, 2: 0.0}[grad]
    elif grad == 2:
        x = 0.0
    return x * scale


@pytest.mark.parametrize("shape", [(2, 3, 4, 2), (3, 5), (2, 4, 3), (6,)])
@pytest.mark.parametrize(("act", "grad"), [(1, 0), (1, 1), (1, 2), (3, 0), (3, 1), (3, 2)])
@pytest.mark.parametrize(("with_bias", "with_ref"), [(True, True), (False, True), (True, False)])
def test_fused_bias_act(shape: tuple[int, ...], act: int, grad: int, with_bias: bool, with_ref: bool) -> None:
    x, ref = numbers(*shape), numbers(*shape, seed=1)
    size = shape[1] if len(shape) > 1 else shape[0]
    bias = numbers(size, seed=2) if with_bias else x.new_empty(0)
    given_ref = ref if with_ref else x.new_empty(0)
    step = 1
    for one in shape[2:]:
        step *= one
    wanted = [
        _one(
            value,
            bias[at // step % size].item() if with_bias else 0.0,
            ref.reshape(-1)[at].item() if with_ref else 0.0,
            act,
            grad,
            0.2,
            1.5,
        )
        for at, value in enumerate(x.reshape(-1).tolist())
    ]
    made = module("fused_bias_act").fused_bias_act(x, bias, given_ref, act, grad, 0.2, 1.5)
    close(made, torch.tensor(wanted, dtype=torch.float64).reshape(shape))


def test_the_gradient_form_of_fused_bias_act_is_the_derivative() -> None:
    fused = module("fused_bias_act").fused_bias_act
    x, bias, none = numbers(2, 3, 4), numbers(3, seed=2), torch.empty(0, dtype=torch.float64)
    weight, out = numbers(2, 3, 4, seed=4), fused(x, bias, none, 3, 0, 0.2, 1.5)
    wanted = differences(lambda one: fused(one, bias, none, 3, 0, 0.2, 1.5), [x], 0, weight)
    close(fused(weight, none, out, 3, 1, 0.2, 1.5), wanted, 1e-6)
