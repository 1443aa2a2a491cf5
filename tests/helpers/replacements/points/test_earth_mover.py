"""The approximate matching against a loop that follows the kernel, and its cost against finite differences."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.helpers.replacements.common import close, differences, module, numbers, torch


def _apart(a: Any, b: Any) -> float:
    return sum((x - y) ** 2 for x, y in zip(a.tolist(), b.tolist(), strict=True))


def _matched(one: Any, two: Any) -> list[list[float]]:
    """How much of each point of ``one`` goes to each of ``two``: the second's rows."""
    n, m = len(one), len(two)
    left, right = [1.0 if n >= m else float(m // n)] * n, [float(n // m) if n >= m else 1.0] * m
    match = [[0.0] * n for _ in range(m)]
    for power in range(7, -3, -1):
        level = 0.0 if power == -2 else -(4.0**power)
        near = [[math.exp(level * _apart(a, b)) for a in one] for b in two]
        share = [left[k] / (1e-9 + sum(near[row][k] * right[row] for row in range(m))) for k in range(n)]
        given = []
        for row in range(m):
            asked = sum(near[row][k] * share[k] for k in range(n)) * right[row]
            given.append(min(right[row] / (asked + 1e-9), 1.0) * right[row])
            right[row] = max(0.0, right[row] - asked)
        for k in range(n):
            moved = [near[row][k] * share[k] * given[row] for row in range(m)]
            for row in range(m):
                match[row][k] += moved[row]
            left[k] = max(0.0, left[k] - sum(moved))
    return match


@pytest.mark.parametrize(("n", "m"), [(6, 6), (7, 3), (3, 7), (1, 1)])
def test_matching_and_cost(n: int, m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    mover = module("earth_mover")
    monkeypatch.setattr(mover, "_AT_ONCE", 20)  # one set after the other
    one, two = numbers(2, n, 3), numbers(2, m, 3, seed=1)
    match = mover.approxmatch_forward(one, two)
    close(match, torch.tensor([_matched(one[b], two[b]) for b in range(2)], dtype=torch.float64))

    def cost(one: Any, two: Any) -> Any:
        rows = [
            sum(match[b, row, k] * _apart(one[b, k], two[b, row]) for row in range(m) for k in range(n))
            for b in range(2)
        ]
        return torch.stack(rows)

    close(mover.matchcost_forward(one, two, match), cost(one, two))
    grad = numbers(2, seed=2)
    for which, made in enumerate(mover.matchcost_backward(grad, one, two, match)):
        close(made, differences(cost, [one, two], which, grad), 1e-6)


def test_what_is_matched_is_all_of_it() -> None:
    """Each point gives all that it has, and sets in the same place are matched to themselves."""
    mover, one = module("earth_mover"), numbers(1, 12, 3) * 5
    match = mover.approxmatch_forward(one, one[:, torch.arange(11, -1, -1)])
    assert torch.allclose(match.sum(1), torch.ones(1, 12).double(), atol=1e-3)
    assert torch.allclose(match[0].flip(0), torch.eye(12).double(), atol=1e-2)
