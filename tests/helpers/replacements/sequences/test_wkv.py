"""RWKV's sum over time against the sum written out, without any trick against overflow."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.helpers.replacements.common import along, close, module, numbers, torch


def _written_out(w: Any, u: Any, k: Any, v: Any) -> Any:
    time = k.shape[1]
    rows = []
    for t in range(time):
        weights = [torch.exp((t - 1 - i) * w + k[:, i]) for i in range(t)] + [torch.exp(u + k[:, t])]
        total = sum(weight * v[:, i] for i, weight in enumerate(weights))
        rows.append(total / sum(weights))
    return torch.stack(rows, 1)


@pytest.mark.parametrize("time", [1, 2, 7, 16])
def test_wkv(time: int) -> None:
    wkv = module("wkv")
    w, u = -torch.exp(numbers(3)), numbers(3, seed=1)
    k, v = numbers(2, time, 3, seed=2, low=-3, high=3), numbers(2, time, 3, seed=3)
    y, wanted = torch.empty_like(k), _written_out(w, u, k, v)
    wkv.forward(2, time, 3, w, u, k, v, y)
    close(y, wanted)
    grad = numbers(2, time, 3, seed=4)
    gw, gu = torch.zeros(2, 3, dtype=torch.float64), torch.zeros(2, 3, dtype=torch.float64)
    gk, gv = torch.empty_like(k), torch.empty_like(v)
    wkv.backward(2, time, 3, w, u, k, v, grad, gw, gu, gk, gv)
    for which, made in enumerate((gw.sum(0) / w, gu.sum(0), gk, gv)):
        along(_written_out, [w, u, k, v], which, grad, made, 1e-4)


@pytest.mark.parametrize("kind", ["float64", "bfloat16"])
def test_the_form_that_is_given_what_came_out(kind: str) -> None:
    wkv, dtype = module("wkv"), getattr(torch, kind)
    w, u = (
        -torch.exp(numbers(3)).to(torch.float64 if kind == "float64" else torch.float32),
        numbers(3, seed=1).to(dtype),
    )
    k, v, grad = (numbers(2, 9, 3, seed=seed).to(dtype) for seed in (2, 3, 4))
    y = torch.empty_like(k)
    wkv.forward(2, 9, 3, w, u, k, v, y)
    given, tolerance = [one.double() for one in (w, u, k, v)], 1e-9 if kind == "float64" else 1e-2
    close(y, _written_out(*given), tolerance)
    made = [
        torch.full((2, 3), 7.0, dtype=dtype),
        torch.full((2, 3), 7.0, dtype=dtype),
        torch.empty_like(k),
        torch.empty_like(v),
    ]
    wkv.backward_of_output(2, 9, 3, w, u, k, v, y, grad, *made)
    made = [one.double() for one in made]
    for which, one in enumerate((made[0].sum(0) / given[0], made[1].sum(0), *made[2:])):
        along(_written_out, given, which, grad.double(), one, 1e-4 if kind == "float64" else 0.1)


def test_large_exponents() -> None:
    wkv, k = module("wkv"), torch.tensor([[[0.0], [200.0], [-300.0], [90.0]]])
    y, v = torch.empty_like(k), torch.tensor([[[1.0], [2.0], [3.0], [4.0]]])
    wkv.forward(1, 4, 1, torch.tensor([-0.5]), torch.tensor([0.1]), k, v, y)
    assert y.flatten().tolist() == pytest.approx([1.0, 2.0, 2.0, 2.0], abs=1e-6)
    assert not any(math.isnan(one) for one in y.flatten().tolist())
