"""What takes torch_scatter's place, against loops over the definitions, and gradients against differences."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.replacements.common import close, differences, numbers, torch

if TYPE_CHECKING:
    from collections.abc import Callable

from npuify.helpers.packages import scatter

INDEX = [0, 1, 0, 1, 4, 1]
"""Groups 2 and 3 are empty."""


def _groups(src: Any, index: Any, dim: int, size: int, reduce: Callable[[list[float]], float], empty: float) -> Any:
    """A reduction by a loop over every place of the result; ``index`` has the shape of ``src``."""
    shape = list(src.shape)
    shape[dim] = size
    made = torch.full(shape, float(empty), dtype=src.dtype)
    for place in itertools.product(*map(range, shape)):
        line = [(*place[:dim], at, *place[dim + 1 :]) for at in range(src.shape[dim])]
        values = [src[at].item() for at in line if index[at] == place[dim]]
        if values:
            made[place] = reduce(values)
    return made


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


KINDS: dict[str, tuple[Callable[[list[float]], float], float]] = {
    "sum": (sum, 0),
    "add": (sum, 0),
    "mean": (_mean, 0),
    "mul": (math.prod, 1),
    "min": (min, 0),
    "max": (max, 0),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("shape", "dim"), [((6,), 0), ((6, 3), 0), ((2, 6), 1), ((2, 6, 3), 1), ((2, 6, 3), -2)])
def test_reductions(kind: str, shape: tuple[int, ...], dim: int) -> None:
    src, index = numbers(*shape), torch.tensor(INDEX)
    dim_of = dim % len(shape)
    full = index.reshape([1] * dim_of + [-1] + [1] * (len(shape) - dim_of - 1)).expand(shape)
    reduce, empty = KINDS[kind]
    close(scatter.scatter(src, index, dim, reduce=kind), _groups(src, full, dim_of, 5, reduce, empty))
    close(scatter.scatter(src, index, dim, dim_size=7, reduce=kind), _groups(src, full, dim_of, 7, reduce, empty))
    weight = numbers(*scatter.scatter(src, index, dim).shape, seed=5)
    given = src.clone().requires_grad_()
    (scatter.scatter(given, index, dim, reduce=kind) * weight).sum().backward()
    close(given.grad, differences(lambda x: scatter.scatter(x, index, dim, reduce=kind), [src], 0, weight), 1e-6)


@pytest.mark.parametrize("kind", ["min", "max"])
def test_where_an_extreme_stands(kind: str) -> None:
    src = torch.tensor([[2.0, 1.0, 2.0, 1.0], [5.0, 7.0, 5.0, 9.0]])
    index = torch.tensor([[0, 0, 0, 2], [1, 1, 1, 1]])
    values, places = getattr(scatter, f"scatter_{kind}")(src, index, 1)
    number = src.shape[1]  # where a group is empty
    wanted = {"max": ([0, number, 3], [number, 3, number]), "min": ([1, number, 3], [number, 0, number])}[kind]
    assert places.tolist() == list(map(list, wanted))
    held = src.gather(1, places.clamp(max=number - 1))
    assert torch.equal(values, torch.where(places < number, held, torch.zeros_like(held)))
    whole = getattr(scatter, f"scatter_{kind}")(src.long(), index, 1)
    assert whole[0].tolist() == values.long().tolist()
    assert whole[1].tolist() == places.tolist()


def test_into_what_is_given() -> None:
    src, index = torch.tensor([3.0, -1.0, 4.0]), torch.tensor([0, 0, 2])
    out = torch.tensor([1.0, 2.0, 9.0])
    assert scatter.scatter_sum(src, index, 0, out.clone()).tolist() == [3.0, 2.0, 13.0]
    assert scatter.scatter_mul(src, index, 0, out.clone()).tolist() == [-3.0, 2.0, 36.0]
    # The sum holds what was there, the number does not.
    assert scatter.scatter_mean(src, index, 0, out.clone()).tolist() == [1.5, 2.0, 13.0]
    given = out.clone()
    values, places = scatter.scatter_max(src, index, 0, given)
    assert values is given
    assert (values.tolist(), places.tolist()) == ([3.0, 2.0, 9.0], [0, 3, 3])


def test_whole_numbers_are_rounded_down() -> None:
    src, index = torch.tensor([-3, 2, 5, 4]), torch.tensor([0, 0, 1, 1])
    assert scatter.scatter_mean(src, index).tolist() == [-1, 4]


def test_nothing_to_scatter() -> None:
    empty, index = torch.zeros(0, 3), torch.zeros(0, dtype=torch.int64)
    assert scatter.scatter_sum(empty, index, 0).shape == (0, 3)
    values, places = scatter.scatter_max(empty, index, 0, dim_size=2)
    assert values.tolist() == [[0.0] * 3] * 2
    assert places.tolist() == [[0] * 3] * 2
    with pytest.raises(ValueError, match="no reduction"):
        scatter.scatter(empty, index, 0, reduce="median")


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp", "std"])
def test_compositions(name: str) -> None:
    src, index = numbers(2, 6, low=-30, high=30), torch.tensor(INDEX)
    function = getattr(scatter, f"scatter_{name}")
    made = function(src, index, 1)
    for row in range(2):
        for group in sorted(set(INDEX)):
            chosen = [at for at, one in enumerate(INDEX) if one == group]
            values = src[row, chosen]
            if name == "std":
                free = max(len(chosen) - 1, 1)
                wanted = (((values - values.mean()) ** 2).sum() / (free + 1e-6)).sqrt()
                close(made[row, group], wanted)
            elif name == "logsumexp":
                close(made[row, group], torch.logsumexp(values, 0))
            else:
                close(made[row, chosen], getattr(torch, name)(values, 0))
    weight = numbers(*made.shape, seed=3)
    if name == "std":
        index = torch.tensor([0, 1, 0, 1, 4, 4])  # one value alone has no gradient, in torch_scatter either
    given = src.clone().requires_grad_()
    (function(given, index, 1) * weight).sum().backward()
    close(given.grad, differences(lambda x: function(x, index, 1), [src], 0, weight), 1e-6)
    if name != "std":
        with pytest.raises(ValueError, match="floating-point"):
            function(src.long(), index, 1)


def test_the_logarithm_of_nothing_is_zero() -> None:
    src = torch.tensor([0.5, 800.0], dtype=torch.float64)
    assert scatter.scatter_logsumexp(src, torch.tensor([0, 2]), 0).tolist() == pytest.approx([0.5, 0.0, 800.0])


POINTERS = [[0, 2, 2, 5], [1, 3, 4, 4]]
"""The first row ends before the last value, the second begins after the first and ends before the last."""


@pytest.mark.parametrize("kind", ["sum", "mean", "min", "max"])
@pytest.mark.parametrize("tail", [(), (3,)])
def test_rows_of_pointers(kind: str, tail: tuple[int, ...]) -> None:
    src, pointers = numbers(2, 6, *tail), torch.tensor(POINTERS)
    made = scatter.segment_csr(src, pointers, reduce=kind)
    assert made.shape == (2, 3, *tail)
    for row, group in itertools.product(range(2), range(3)):
        part = src[row, POINTERS[row][group] : POINTERS[row][group + 1]]
        reduce = {"sum": "sum", "mean": "mean", "min": "amin", "max": "amax"}[kind]
        wanted = getattr(part, reduce)(0) if len(part) else torch.zeros(tail, dtype=src.dtype)
        close(made[row, group], wanted)
    if kind in ("min", "max"):
        values, places = getattr(scatter, f"segment_{kind}_csr")(src, pointers)
        held = src.gather(1, places.clamp(max=5))
        close(values, torch.where(places < 6, held, torch.zeros_like(held)))
    into = torch.full_like(made, 7.0)
    assert scatter.segment_csr(src, pointers, into, reduce=kind) is into
    close(into, made)


def test_values_for_rows_of_pointers() -> None:
    values = numbers(2, 3, 4)
    pointers = torch.tensor([0, 2, 2, 5])
    made = scatter.gather_csr(values, pointers.reshape(1, -1))
    close(made, torch.stack([values[:, 0], values[:, 0], values[:, 2], values[:, 2], values[:, 2]], 1))
    close(scatter.gather_csr(values[0], pointers), made[0])


@pytest.mark.parametrize("kind", ["sum", "mean", "min", "max"])
def test_sorted_groups(kind: str) -> None:
    src, index = numbers(2, 6, 3), torch.tensor([[0, 0, 1, 1, 1, 3]])
    reduce, empty = KINDS[kind]
    full = index.reshape(1, 6, 1).expand(2, 6, 3)
    close(scatter.segment_coo(src, index, reduce=kind), _groups(src, full, 1, 4, reduce, empty))
    back = scatter.gather_coo(numbers(2, 4, 3), index)
    close(back, numbers(2, 4, 3)[:, index[0]])
