"""Deformable convolution against a loop over taps."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tests.helpers.replacements.common import along, close, module, numbers, torch

CASES = [
    # channels, results, kernel, stride, padding, dilation, groups, groups of offsets
    (4, 2, (2, 3), (1, 1), (1, 0), (1, 1), 1, 1),
    (4, 4, (3, 1), (2, 1), (0, 2), (1, 2), 2, 2),
    (2, 2, (1, 2), (1, 2), (1, 1), (2, 1), 1, 2),
]


def _at(plane: Any, y: float, x: float) -> float:
    height, width = plane.shape
    if not (-1 < y < height and -1 < x < width):
        return 0.0
    total = 0.0
    for row, column in itertools.product((math.floor(y), math.floor(y) + 1), (math.floor(x), math.floor(x) + 1)):
        if 0 <= row < height and 0 <= column < width:
            total += plane[row, column].item() * (1 - abs(y - row)) * (1 - abs(x - column))
    return total


def _written_out(image: Any, offset: Any, mask: Any, weight: Any, case: tuple[Any, ...]) -> Any:
    channels, results, (high, wide), stride, padding, dilation, groups, parts = case
    rows, columns = offset.shape[2:]
    out = torch.zeros(image.shape[0], results, rows, columns, dtype=torch.float64)
    per_group, per_part = channels // groups, channels // parts
    for n, c, y, x, i, j in itertools.product(*map(range, (image.shape[0], channels, rows, columns, high, wide))):
        part, tap = c // per_part, i * wide + j
        down, right = (offset[n, (part * high * wide + tap) * 2 + one, y, x].item() for one in (0, 1))
        at_y = y * stride[0] - padding[0] + i * dilation[0] + down
        at_x = x * stride[1] - padding[1] + j * dilation[1] + right
        value = _at(image[n, c], at_y, at_x)
        if mask is not None:
            value *= mask[n, part * high * wide + tap, y, x].item()
        group = c // per_group
        for o in range(group * results // groups, (group + 1) * results // groups):
            out[n, o, y, x] += value * weight[o, c % per_group, i, j]
    return out


def _inputs(case: tuple[Any, ...], size: tuple[int, int] = (4, 3)) -> tuple[Any, Any, Any, Any]:
    channels, results, (high, wide), stride, padding, dilation, groups, parts = case
    rows, columns = (
        (size[one] + 2 * padding[one] - dilation[one] * (case[2][one] - 1) - 1) // stride[one] + 1 for one in (0, 1)
    )
    taps = parts * high * wide
    offset = numbers(2, 2 * taps, rows, columns, seed=1, low=-1.6, high=1.6)
    mask = numbers(2, taps, rows, columns, seed=2, low=0)
    return numbers(2, channels, *size), offset, mask, numbers(results, channels // groups, high, wide, seed=3)


@pytest.mark.parametrize("case", CASES)
def test_without_masks(case: tuple[Any, ...]) -> None:
    conv = module("deform_conv")
    _, _, (high, wide), stride, padding, dilation, groups, parts = case
    image, offset, _, weight = _inputs(case)
    wanted = _written_out(image, offset, None, weight, case)
    out, none = torch.empty_like(wanted), image.new_empty(0)
    sizes = (wide, high, stride[1], stride[0], padding[1], padding[0], dilation[1], dilation[0], groups, parts)
    assert conv.deform_conv_forward(image, weight, offset, out, none, none, *sizes, 2) == 1
    close(out, wanted)
    grad = numbers(*wanted.shape, seed=5)
    of_image, of_offset, of_weight = torch.ones_like(image), torch.ones_like(offset), torch.ones_like(weight)
    conv.deform_conv_backward_input(image, offset, grad, of_image, of_offset, weight, none, *sizes, 2)
    conv.deform_conv_backward_parameters(image, offset, grad, of_weight, none, none, *sizes, 0.5, 2)

    def again(image: Any, offset: Any, weight: Any) -> Any:
        return _written_out(image, offset, None, weight, case)

    for which, made in enumerate((of_image - 1, of_offset, (of_weight - 1) * 2)):
        along(again, [image, offset, weight], which, grad, made)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("with_bias", [True, False])
def test_with_masks(case: tuple[Any, ...], with_bias: bool) -> None:
    conv = module("deform_conv")
    _, results, (high, wide), stride, padding, dilation, groups, parts = case
    image, offset, mask, weight = _inputs(case)
    bias, none = numbers(results, seed=7), image.new_empty(0)

    def again(image: Any, offset: Any, mask: Any, weight: Any, bias: Any) -> Any:
        made = _written_out(image, offset, mask, weight, case)
        return made + bias.reshape(1, -1, 1, 1) if with_bias else made

    given = [image, offset, mask, weight, bias]
    wanted = again(*given)
    out = torch.empty_like(wanted)
    sizes = (high, wide, *stride, *padding, *dilation, groups, parts, with_bias)
    conv.modulated_deform_conv_forward(image, weight, bias, none, offset, mask, out, none, *sizes)
    close(out, wanted)
    grad = numbers(*wanted.shape, seed=5)
    made = [torch.ones_like(one) for one in (image, weight, bias, offset, mask)]
    conv.modulated_deform_conv_backward(image, weight, bias, none, offset, mask, none, *made, grad, *sizes)
    of_image, of_weight, of_bias, of_offset, of_mask = made
    for which, one in enumerate((of_image - 1, of_offset, of_mask, of_weight - 1, of_bias - 1)):
        if with_bias or which < 4:
            along(again, given, which, grad, one)


@pytest.mark.parametrize("case", CASES)
def test_results_that_are_returned(case: tuple[Any, ...]) -> None:
    conv = module("deform_conv")
    channels, results, kernel, stride, _, dilation, _, parts = case
    case = (channels, results, kernel, stride, (1, 1), dilation, 1, parts)
    image, offset, mask, weight = _inputs(case)
    bias = numbers(results, seed=7)
    sizes = (*kernel, *stride, 1, 1, *dilation, parts)

    def again(image: Any, offset: Any, mask: Any, weight: Any, bias: Any) -> Any:
        return _written_out(image, offset, mask, weight, case) + bias.reshape(1, -1, 1, 1)

    given = [image, offset, mask, weight, bias]
    made = conv.dcn_v2_forward(image, weight, bias, offset, mask, *sizes)
    close(made, again(*given))
    grad = numbers(*made.shape, seed=5)
    for which, one in enumerate(conv.dcn_v2_backward(image, weight, bias, offset, mask, grad, *sizes)):
        along(again, given, which, grad, one)
    none = image.new_empty(0)
    square, plain = ([torch.ones_like(one) for one in (image, weight, bias, offset, mask)] for _ in range(2))
    conv.modulated_deform_conv_backward(
        image, weight, bias, none, offset, mask, none, *plain, grad, *sizes[:8], 1, parts, True
    )
    conv.modulated_deform_conv_backward_square(
        image, weight, bias, none, offset, mask, none, *square, grad, *sizes[:8], 1, parts, True
    )
    for one, other in zip(square, plain, strict=True):
        close(one, other)


def test_a_gradient_that_the_kernel_gets_wrong_is_refused() -> None:
    """Old copies give the padding of rows to columns: a replacement that is right would differ from them."""
    conv, none = module("deform_conv"), torch.zeros(0)
    with pytest.raises(NotImplementedError, match="paddings differ"):
        conv.modulated_deform_conv_backward_square(*[none] * 13, 3, 3, 1, 1, 1, 2, 1, 1, 1, 1, False)
    with pytest.raises(NotImplementedError, match="paddings differ"):
        conv.dcn_v2_backward(*[none] * 6, 3, 3, 1, 1, 1, 2, 1, 1, 1)
