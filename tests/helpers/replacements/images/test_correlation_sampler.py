"""Correlation over a patch against a loop over pixels, displacements and the kernel."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.helpers.replacements.common import along, close, module, numbers, torch

CASES = [
    # kernel, patch, padding, dilation, dilation of the patch, stride
    ((1, 1), (3, 5), (0, 0), (1, 1), (1, 1), (1, 1)),
    ((3, 2), (3, 3), (1, 0), (1, 2), (2, 1), (2, 1)),
    ((1, 3), (2, 1), (0, 1), (1, 1), (1, 3), (1, 2)),
    ((2, 2), (4, 3), (1, 1), (2, 1), (2, 2), (1, 1)),
]


def _written_out(one: Any, two: Any, case: tuple[tuple[int, int], ...]) -> Any:
    kernel, patch, pad, dilation, apart, stride = case
    height, width = one.shape[2:]
    sizes = [
        (size + 2 * pad[a] - (kernel[a] - 1) * dilation[a] - 1) // stride[a] + 1
        for a, size in enumerate((height, width))
    ]
    out = torch.zeros(one.shape[0], *patch, *sizes, dtype=torch.float64)
    for ph, pw, y, x, i, j in itertools.product(*map(range, (*patch, *sizes, *kernel))):
        row, column = y * stride[0] - pad[0] + i * dilation[0], x * stride[1] - pad[1] + j * dilation[1]
        other_row = row + ph * apart[0] - apart[0] * (patch[0] - 1) // 2
        other_column = column + pw * apart[1] - apart[1] * (patch[1] - 1) // 2
        if all(0 <= at < height for at in (row, other_row)) and all(0 <= at < width for at in (column, other_column)):
            out[:, ph, pw, y, x] += (one[:, :, row, column] * two[:, :, other_row, other_column]).sum(1)
    return out


@pytest.mark.parametrize("case", CASES)
def test_correlation(case: tuple[tuple[int, int], ...]) -> None:
    sampler, one, two = module("correlation_sampler"), numbers(2, 3, 5, 6), numbers(2, 3, 5, 6, seed=1)
    sizes = [number for pair in case for number in pair]
    made = sampler.forward(one, two, *sizes)
    close(made, _written_out(one, two, case))
    grad = numbers(*made.shape, seed=2)
    if case is CASES[3]:
        with pytest.raises(NotImplementedError, match="even patches"):
            sampler.backward(one, two, grad, *sizes)
        return
    for which, of_image in enumerate(sampler.backward(one, two, grad, *sizes)):
        along(lambda a, b: _written_out(a, b, case), [one, two], which, grad, of_image)
