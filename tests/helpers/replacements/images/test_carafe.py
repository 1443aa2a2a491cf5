"""CARAFE against loops over pixels, in double precision, and finite differences."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.helpers.replacements.common import close, differences, module, numbers, torch


def _upsampled(features: Any, masks: Any, size: int, groups: int, scale: int) -> Any:
    batch, channels, height, width = features.shape
    out = torch.zeros(batch, channels, height * scale, width * scale, dtype=torch.float64)
    places = itertools.product(range(batch), range(channels), range(height * scale), range(width * scale))
    for n, c, y, x in places:
        group = c // (channels // groups)
        for i, j in itertools.product(range(size), range(size)):
            row, column = y // scale + i - size // 2, x // scale + j - size // 2
            if 0 <= row < height and 0 <= column < width:
                out[n, c, y, x] += features[n, c, row, column] * masks[n, (group * size + i) * size + j, y, x]
    return out


@pytest.mark.parametrize(("size", "groups", "scale"), [(3, 1, 2), (5, 2, 1), (1, 1, 3), (3, 2, 2)])
def test_carafe(size: int, groups: int, scale: int) -> None:
    carafe = module("carafe")
    features, masks = numbers(2, 4, 3, 4), numbers(2, groups * size * size, 3 * scale, 4 * scale, seed=1)
    wanted = _upsampled(features, masks, size, groups, scale)
    out = torch.empty_like(wanted)
    carafe.forward_naive(features, masks, size, groups, scale, out)
    close(out, wanted)
    grad = numbers(*wanted.shape, seed=2)
    given = [features.clone().requires_grad_(), masks.clone().requires_grad_()]
    by_torch = torch.autograd.grad(_upsampled(*given, size, groups, scale), given, grad)
    made = [torch.zeros_like(features), torch.zeros_like(masks)]
    carafe.backward_naive(grad, features, masks, size, groups, scale, *made)
    for one, other in zip(made, by_torch, strict=True):
        close(one, other)
    # The other form keeps what it is given with channels last.
    more = [torch.zeros(1, dtype=torch.float64) for _ in range(3)]
    out = torch.empty_like(wanted)
    carafe.forward(features, more[0], masks, more[1], size, groups, scale, more[2], out)
    close(out, wanted)
    close(more[0], features.permute(0, 2, 3, 1))
    again = [torch.full_like(features, 7.0), torch.full_like(masks, 7.0)]
    carafe.backward(grad, more[0], masks, size, groups, scale, *[torch.zeros(1)] * 4, *again)
    for one, other in zip(again, made, strict=True):
        close(one, other)


def test_gradients_by_differences() -> None:
    carafe, features, masks = module("carafe"), numbers(1, 2, 2, 2), numbers(1, 9, 4, 4, seed=1)
    grad, made = numbers(1, 2, 4, 4, seed=2), [torch.zeros_like(features), torch.zeros_like(masks)]
    carafe.backward_naive(grad, features, masks, 3, 1, 2, *made)
    for which, one in enumerate(made):
        close(one, differences(lambda f, m: _upsampled(f, m, 3, 1, 2), [features, masks], which, grad), 1e-6)


def test_half_precision_and_even_sizes() -> None:
    carafe, features, masks = module("carafe"), numbers(1, 4, 3, 4).half(), numbers(1, 9, 6, 8, seed=1).half()
    out = torch.empty(1, 4, 6, 8, dtype=torch.float16)
    carafe.forward_naive(features, masks, 3, 1, 2, out)
    close(out.double(), _upsampled(features.double(), masks.double(), 3, 1, 2), 2e-3)
    with pytest.raises(NotImplementedError):
        carafe.forward_naive(features, masks, 2, 1, 2, out)
