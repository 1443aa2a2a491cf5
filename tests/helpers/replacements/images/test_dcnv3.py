"""Deformable convolution of version 3 against a loop over taps."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.helpers.replacements.common import along, close, module, numbers, torch
from tests.helpers.replacements.images.test_deform_conv import _at

CASES = [
    # kernel, stride, padding, dilation, groups, channels of a group, scale, without the centre
    ((3, 3), (1, 1), (1, 1), (1, 1), 2, 2, 1.0, 0),
    ((3, 3), (2, 1), (1, 0), (1, 1), 1, 3, 0.7, 1),
    ((1, 3), (1, 2), (0, 1), (1, 1), 2, 1, 1.3, 0),
    ((3, 3), (1, 1), (2, 2), (2, 2), 1, 2, 1.0, 0),
]


def _written_out(image: Any, offset: Any, mask: Any, case: tuple[Any, ...]) -> Any:
    kernel, stride, pad, dilation, groups, channels, scale, without = case
    batch, rows, columns = mask.shape[:3]
    out = torch.zeros(batch, rows, columns, groups * channels).double()
    for b, y, x, g in itertools.product(range(batch), range(rows), range(columns), range(groups)):
        tap = 0
        number = kernel[0] * kernel[1] - without
        for j, i in itertools.product(range(kernel[1]), range(kernel[0])):
            if without and (i, j) == (kernel[0] // 2, kernel[1] // 2):
                continue
            middle = [dilation[a] * (kernel[a] - 1) // 2 for a in (0, 1)]
            right, down = (offset[b, y, x, (g * number + tap) * 2 + one].item() for one in (0, 1))
            at_y = middle[0] - pad[0] + y * stride[0] + (i * dilation[0] - middle[0] + down) * scale
            at_x = middle[1] - pad[1] + x * stride[1] + (j * dilation[1] - middle[1] + right) * scale
            for c in range(g * channels, (g + 1) * channels):
                out[b, y, x, c] += mask[b, y, x, g * number + tap].item() * _at(image[b, :, :, c], at_y, at_x)
            tap += 1
    return out


@pytest.mark.parametrize("case", CASES)
def test_convolution(case: tuple[Any, ...]) -> None:
    conv, size = module("dcnv3"), (4, 5)
    kernel, stride, pad, dilation, groups, channels, scale, without = case
    rows, columns = ((size[a] + 2 * pad[a] - dilation[a] * (kernel[a] - 1) - 1) // stride[a] + 1 for a in (0, 1))
    taps = groups * (kernel[0] * kernel[1] - without)
    image, mask = numbers(2, *size, groups * channels), numbers(2, rows, columns, taps, seed=1, low=0)
    offset = numbers(2, rows, columns, 2 * taps, seed=2, low=-1.6, high=1.6)
    given = (*kernel, *stride, *pad, *dilation, groups, channels, scale)
    made = conv.dcnv3_forward(image, offset, mask, *given, 2, without)
    close(made, _written_out(image, offset, mask, case))
    half = conv.dcnv3_forward(image.half(), offset.half(), mask.half(), *given, 2, without)
    assert half.dtype == torch.float16
    close(half, made, 2e-2)
    grad = numbers(*made.shape, seed=3)
    for which, one in enumerate(conv.dcnv3_backward(image, offset, mask, *given, grad, 2, without)):
        along(lambda *inputs: _written_out(*inputs, case), [image, offset, mask], which, grad, one)
