"""The structural similarity against a loop over windows, and finite differences."""

from __future__ import annotations

import itertools
import math
from typing import Any

from tests.helpers.replacements.common import along, close, module, numbers, torch

C1, C2 = 0.01**2, 0.03**2


def _window() -> list[float]:
    """A Gaussian with a deviation of 1.5, over 11 pixels."""
    weights = [math.exp(-((at - 5) ** 2) / (2 * 1.5**2)) for at in range(11)]
    return [one / sum(weights) for one in weights]


def _similarity(one: Any, two: Any) -> Any:
    window, out = _window(), torch.zeros_like(one)
    height, width = one.shape[2:]
    for n, c, y, x in itertools.product(*map(range, one.shape)):
        sums = torch.zeros(5, dtype=torch.float64)
        for i, j in itertools.product(range(11), range(11)):
            row, column = y + i - 5, x + j - 5
            if 0 <= row < height and 0 <= column < width:
                a, b = one[n, c, row, column], two[n, c, row, column]
                sums += window[i] * window[j] * torch.stack([a, b, a * a, b * b, a * b])
        a, b, aa, bb, ab = sums.tolist()
        variances = aa - a * a + bb - b * b
        out[n, c, y, x] = (2 * a * b + C1) * (2 * (ab - a * b) + C2) / ((a * a + b * b + C1) * (variances + C2))
    return out


def test_similarity_and_its_gradient() -> None:
    ssim = module("structural_similarity")
    one, two = numbers(1, 2, 5, 7, low=0), numbers(1, 2, 5, 7, seed=1, low=0)
    made, *by = ssim.fusedssim(C1, C2, one, two, True)
    close(made, _similarity(one, two), 1e-6)
    grad = numbers(*made.shape, seed=2)
    of_one = ssim.fusedssim_backward(C1, C2, one, two, grad, *by)
    along(lambda first: ssim.fusedssim(C1, C2, first, two, False)[0], [one], 0, grad, of_one)
    assert [len(rest) for rest in ssim.fusedssim(C1, C2, one, two, False)[1:]] == [0, 0, 0]


def test_the_same_image() -> None:
    """Similarities are 1, but for rounding."""
    ssim, image = module("structural_similarity"), numbers(2, 1, 16, 16, low=0).float()
    made, *by = ssim.fusedssim(C1, C2, image, image, True)
    assert torch.allclose(made, torch.ones_like(made), atol=1e-5)
    assert ssim.fusedssim_backward(C1, C2, image, image, torch.ones_like(image), *by).abs().max() < 1e-2
