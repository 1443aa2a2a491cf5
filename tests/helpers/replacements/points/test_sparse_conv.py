"""Sparse convolution against torch's dense one, forward and backward, and its rules against loops."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.helpers.replacements.common import close, differences, module, numbers, torch

SHAPE = (6, 5, 7)


def _places(dimensions: int) -> Any:
    """Some of the cells of two grids, each once, in no order."""
    shape = (2, *SHAPE[:dimensions])
    cells = torch.tensor(list(itertools.product(*[range(one) for one in shape])), dtype=torch.int32)
    return cells[torch.randperm(len(cells), generator=torch.Generator().manual_seed(3))[: len(cells) // 5]]


def _dense(places: Any, features: Any, shape: Any) -> Any:
    made = torch.zeros(2, *shape, features.shape[1], dtype=features.dtype)
    return made.index_put(tuple(places.long().t()), features).movedim(-1, 1)


def _at(dense: Any, places: Any) -> Any:
    return dense.movedim(1, -1)[tuple(places.long().t())]


FORMS = [
    # kernel, stride, padding, dilation, submanifold, transposed
    ([3, 3, 3], [1, 1, 1], [0, 0, 0], [1, 1, 1], 1, 0),
    ([3, 1, 3], [1, 1, 1], [0, 0, 0], [1, 1, 1], 1, 0),
    ([3, 3, 3], [2, 2, 2], [1, 1, 1], [1, 1, 1], 0, 0),
    ([3, 1, 2], [2, 1, 1], [0, 1, 1], [1, 1, 1], 0, 0),
    ([3, 3, 3], [1, 1, 1], [2, 1, 0], [2, 1, 1], 0, 0),
    ([2, 3, 3], [2, 2, 1], [0, 1, 1], [1, 1, 1], 0, 1),
]


def _sizes(kernel: Any, stride: Any, padding: Any, dilation: Any, transposed: int, shape: Any) -> list[int]:
    sizes = []
    for size, k, s, p, d in zip(shape, kernel, stride, padding, dilation, strict=True):
        sizes.append((size - 1) * s - 2 * p + k if transposed else (size + 2 * p - d * (k - 1) - 1) // s + 1)
    return sizes


@pytest.mark.parametrize(("kernel", "stride", "padding", "dilation", "submanifold", "transposed"), FORMS)
def test_convolution(
    kernel: list[int], stride: list[int], padding: list[int], dilation: list[int], submanifold: int, transposed: int
) -> None:
    sparse, places = module("sparse_conv"), _places(3)
    features, filters = numbers(len(places), 2), numbers(*kernel, 2, 3, seed=1)
    out_shape = list(SHAPE) if submanifold else _sizes(kernel, stride, padding, dilation, transposed, SHAPE)
    given = (places, 2, out_shape, list(SHAPE), kernel, stride, padding, dilation, [0, 0, 0], submanifold, transposed)
    out_places, pairs, number = sparse.get_indice_pairs(*given)
    assert pairs.dtype == number.dtype == torch.int32

    def convolved(features: Any, filters: Any) -> Any:
        dense = _dense(places, features, SHAPE)
        if transposed:
            weight = filters.permute(3, 4, 0, 1, 2)
            return torch.nn.functional.conv_transpose3d(dense, weight, stride=stride, padding=padding)
        weight = filters.permute(4, 3, 0, 1, 2)
        if submanifold:
            return torch.nn.functional.conv3d(dense, weight, padding=[one // 2 for one in kernel])
        return torch.nn.functional.conv3d(dense, weight, stride=stride, padding=padding, dilation=dilation)

    dense = convolved(features, filters)
    assert list(dense.shape[2:]) == out_shape
    out = sparse.indice_conv(features, filters, pairs, number, len(out_places), 0, submanifold)
    close(out, _at(dense, out_places))
    if submanifold:
        assert out_places is places
    else:
        # Everywhere else the dense one has nothing; places rise.
        rest = torch.ones(2, *out_shape, dtype=torch.bool).index_put(tuple(out_places.long().t()), torch.tensor(False))
        assert not dense.movedim(1, -1)[rest].any()
        assert out_places.tolist() == sorted(out_places.tolist())
    grad = numbers(*out.shape, seed=2)
    wanted = torch.autograd.grad(
        _at(convolved(*(given := [features.clone().requires_grad_(), filters.clone().requires_grad_()])), out_places),
        given,
        grad,
    )
    for one, other in zip(
        sparse.indice_conv_backward(features, filters, grad, pairs, number, 0, submanifold), wanted, strict=True
    ):
        close(one, other)
    if not submanifold:
        # The way back takes the same pairs.
        back = sparse.indice_conv(out, filters.transpose(3, 4), pairs, number, len(places), 1, 0)
        assert back.shape == features.shape
        by_hand = torch.zeros_like(back)
        flat = filters.transpose(3, 4).reshape(-1, 3, 2)
        for place, count in enumerate(number.tolist()):
            for source, target in pairs[place, :, :count].t().tolist():
                by_hand[source] += out[target] @ flat[place]
        close(back, by_hand)
        again = sparse.indice_conv_backward(out, filters.transpose(3, 4), features, pairs, number, 1, 0)
        weight = filters.transpose(3, 4).contiguous()
        run = differences(
            lambda one: sparse.indice_conv(out, one, pairs, number, len(places), 1, 0), [weight], 0, features
        )
        close(again[1], run, 1e-6)


def test_rules_of_two_dimensions_and_with_room() -> None:
    sparse, places = module("sparse_conv"), _places(2)
    given = (2, [3, 3], [6, 5], [3, 3], [2, 2], [1, 1], [1, 1], [0, 0], 0, 0)
    out_places, pairs, number = sparse.get_indice_pairs(places, *given)
    wanted: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
    for at, (b, y, x) in enumerate(places.tolist()):
        for k, (i, j) in enumerate(itertools.product(range(3), repeat=2)):
            row, column = y + 1 - i, x + 1 - j
            if row % 2 == 0 and column % 2 == 0 and 0 <= row // 2 < 3 and 0 <= column // 2 < 3:
                wanted.setdefault(k, []).append((at, (b, row // 2, column // 2)))
    assert {tuple(one) for one in out_places.tolist()} == {place for one in wanted.values() for _, place in one}
    for k in range(9):
        count = int(number[k])
        found = [(a, tuple(out_places[b].tolist())) for a, b in pairs[k, :, :count].t().tolist()]
        assert found == wanted.get(k, [])
        assert (pairs[k, :, count:] == -1).all()
    grid = torch.full((2 * 9,), -1, dtype=torch.int32)
    for one, other in zip(sparse.get_indice_pairs_grid(places, grid, *given), (out_places, pairs, number), strict=True):
        assert torch.equal(one, other)


def test_bias_and_half_precision() -> None:
    sparse, places = module("sparse_conv"), _places(3)
    features, filters, bias = numbers(len(places), 2), numbers(3, 3, 3, 2, 3, seed=1), numbers(3, seed=2)
    for submanifold in (0, 1):
        shape = list(SHAPE) if submanifold else [3, 3, 4]
        given = (places, 2, shape, list(SHAPE), [3] * 3, [2] * 3, [1] * 3, [1] * 3, [0] * 3, submanifold, 0)
        out_places, pairs, number = sparse.get_indice_pairs(*given)
        more = (pairs, number, len(out_places), 0, submanifold)
        plain = sparse.indice_conv(features, filters, *more)
        close(sparse.fused_indice_conv(features, filters, bias, *more), plain if submanifold else plain + bias)
        half = sparse.indice_conv(features.half(), filters.half(), *more)
        assert half.dtype == torch.float16
        close(half.double(), plain, 2e-2)


def test_pooling() -> None:
    sparse, places, features = module("sparse_conv"), _places(3), None
    features = numbers(len(places), 2)
    given = (places, 2, [3, 2, 3], list(SHAPE), [2] * 3, [2] * 3, [0] * 3, [1] * 3, [0] * 3, 0, 0)
    out_places, pairs, number = sparse.get_indice_pairs(*given)
    out = sparse.indice_maxpool(features, pairs, number, len(out_places))
    dense = torch.nn.functional.max_pool3d(_dense(places, features.clamp(min=0), SHAPE), 2, 2)
    close(out, _at(dense, out_places))
    grad = numbers(*out.shape, seed=1)
    made = sparse.indice_maxpool_backward(features, out, grad, pairs, number)

    def pooled(features: Any) -> Any:
        return sparse.indice_maxpool(features, pairs, number, len(out_places))

    close(made, differences(pooled, [features], 0, grad, 1e-7), 1e-5)


def test_no_places() -> None:
    sparse, places = module("sparse_conv"), _places(3)[:0]
    for submanifold in (0, 1):
        given = (places, 2, list(SHAPE), list(SHAPE), [3] * 3, [1] * 3, [1] * 3, [1] * 3, [0] * 3, submanifold, 0)
        out_places, pairs, number = sparse.get_indice_pairs(*given)
        assert out_places.shape == (0, 4)
        assert pairs.shape == (27, 2, 0)
        assert not number.any()
