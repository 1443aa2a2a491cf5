"""Routing of tokens to experts against loops over tokens."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.replacements.common import close, differences, module, numbers, torch


@pytest.mark.parametrize("shape", [(20,), (10, 2)])
def test_counts_and_places(shape: tuple[int, ...]) -> None:
    routing = module("expert_routing")
    gate = (numbers(20, low=-1, high=4.99).floor()).long().reshape(shape)
    flat = gate.flatten().tolist()
    count = torch.zeros(5, dtype=torch.int32)
    routing.expert_count(gate, count)
    assert count.tolist() == [flat.count(expert) for expert in range(5)]
    sums = count.cumsum(0).int()
    pos = torch.full((int(count.sum()),), -7)
    routing.assign_pos(sums, gate, pos)
    assert pos.tolist() == [token for expert in range(5) for token in range(20) if flat[token] == expert]
    assert sums.tolist() == [sum(flat.count(one) for one in range(expert)) for expert in range(5)]


def test_limits_by_worker() -> None:
    routing, asked = module("expert_routing"), torch.tensor([3, 0, 2, 4, 1, 1, 5, 5, 0])
    room = torch.tensor([6, 3, 9], dtype=torch.int32)
    left, wanted = room.tolist(), []
    for worker in range(3):
        for expert in range(3):
            ask = int(asked[worker * 3 + expert])
            wanted.append(max(0, min(ask, left[expert])))
            left[expert] -= ask
    assert routing.limit_by_capacity(asked, room, 3, 3).tolist() == wanted
    assert room.tolist() == left


@pytest.mark.parametrize("shape", [(20,), (10, 2)])
def test_gates_that_are_full(shape: tuple[int, ...]) -> None:
    routing, gate = module("expert_routing"), numbers(20, low=0, high=4.99).long().reshape(shape)
    room = torch.tensor([2, 0, 3, 1, 9], dtype=torch.int32)
    left, wanted = room.tolist(), []
    for one in gate.flatten().tolist():
        wanted.append(one if left[one] > 0 else -1)
        left[one] -= 1
    made = routing.prune_gate_by_capacity(gate, room, 5, 1)
    assert made.shape == gate.shape
    assert made.flatten().tolist() == wanted
    assert room.tolist() == left


@pytest.mark.parametrize("with_bias", [False, True])
def test_linear_layers(with_bias: bool) -> None:
    routing, count = module("expert_routing"), torch.tensor([3, 0, 4])
    rows, weight = numbers(7, 5), numbers(3, 2, 5, seed=1)
    bias = numbers(3, 2, seed=2) if with_bias else None
    of = [0, 0, 0, 2, 2, 2, 2]

    def layer(rows: Any, weight: Any, *bias: Any) -> Any:
        made = [weight[expert] @ row for expert, row in zip(of, rows, strict=True)]
        return torch.stack([one + bias[0][expert] if bias else one for expert, one in zip(of, made, strict=True)])

    given = [rows, weight, *([bias] if with_bias else [])]
    close(routing.linear_forward(rows, count, weight, bias), layer(*given))
    grad = numbers(7, 2, seed=3)
    made = routing.linear_backward(grad, rows, count, weight, bias)
    for which in range(len(given)):
        close(made[which], differences(layer, given, which, grad), 1e-6)
    if not with_bias:
        assert made[2].shape == (3, 2)
        assert not made[2].any()
