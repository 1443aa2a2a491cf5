"""The auction against one that goes from point to point; samples against a loop."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.replacements.common import close, differences, module, numbers, torch


def _auction(one: Any, two: Any, eps: float, rounds: int) -> list[int]:
    number = len(one)
    worth = (3.0 - torch.cdist(one, two)).tolist()
    mine, theirs, price = [-1] * number, [-1] * number, [0.0] * number
    for step in range(rounds):
        bids: dict[int, list[tuple[float, int]]] = {}
        for j in range(number):
            if mine[j] < 0:
                values = [worth[j][k] - price[k] for k in range(number)]
                best = max(range(number), key=values.__getitem__)
                second = max(value for k, value in enumerate(values) if k != best)
                bids.setdefault(best, []).append((values[best] - second + eps, j))
        for place, offers in bids.items():
            if step == rounds - 1:
                for more, j in offers:
                    mine[j] = place
                    price[place] += more
                continue
            more, j = max(offers)
            if theirs[place] >= 0:
                mine[theirs[place]] = -1
            theirs[place], mine[j] = j, place
            price[place] += more
    return mine


def _run(one: Any, two: Any, eps: float, rounds: int) -> tuple[Any, Any]:
    batch, number, _ = one.shape
    whole = torch.full((batch, number), -1, dtype=torch.int32)
    dist, price = torch.zeros(batch, number, dtype=one.dtype), torch.zeros(batch, number, dtype=one.dtype)
    inverse, rest = whole.clone(), [torch.zeros(1)] * 8
    assert module("auction").emd_forward(one, two, dist, whole, price, inverse, *rest, eps, rounds) == 1
    return dist, whole


@pytest.mark.parametrize("rounds", [1, 3, 12])
def test_auction(rounds: int) -> None:
    one, two = numbers(1, 1024, 3, low=0, high=1), numbers(1, 1024, 3, seed=1, low=0, high=1)
    dist, partner = _run(one, two, 0.005, rounds)
    assert partner[0].tolist() == _auction(one[0], two[0], 0.005, rounds)
    close(dist[0], ((one[0] - two[0][partner[0].long()]) ** 2).sum(-1))


def test_slices_and_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = numbers(2, 1024, 3, low=0, high=1), numbers(2, 1024, 3, seed=1, low=0, high=1)
    whole = _run(one, two, 0.005, 5)[1]
    monkeypatch.setattr(module("auction"), "_AT_ONCE", 2**20)
    assert torch.equal(_run(one, two, 0.005, 5)[1], whole)
    assert torch.equal(_run(one[1:], two[1:], 0.005, 5)[1], whole[1:])


def test_gradient_and_sizes_that_are_refused() -> None:
    auction, one, two = module("auction"), numbers(2, 5, 3), numbers(2, 5, 3, seed=1)
    partner = torch.tensor([[1, 1, 0, 4, 2], [0, 1, 2, 3, 4]], dtype=torch.int32)
    grad, made = numbers(2, 5, seed=2), torch.zeros_like(one)
    assert auction.emd_backward(one, two, made, grad, partner) == 1

    def distances(one: Any) -> Any:
        return torch.stack([((one[b] - two[b][partner[b].long()]) ** 2).sum(-1) for b in range(2)])

    close(made, differences(distances, [one], 0, grad), 1e-6)
    assert auction.emd_forward(one, two, *[None] * 12, 0.1, 3) == -1


def test_samples_where_points_are_few() -> None:
    auction, points = module("auction"), numbers(2, 41, 3)
    reach = torch.tensor([0.2, 0.001])
    made = auction.minimum_density_sampling(points, 9, reach, torch.zeros(2, 9, dtype=torch.int32))
    threads = 32
    for b in range(2):
        felt, found = [0.0] * 41, [0]
        felt[0] = 1e9
        while len(found) < 9:
            t = 5 * float(reach[b]) ** 2
            for k in range(41):
                felt[k] += torch.exp(-((points[b, k] - points[b, found[-1]]) ** 2).sum() / t).item()
            # Threads look at every 32nd point; of equal ones the first thread's counts.
            found.append(min(range(41), key=lambda k: (felt[k], k % threads, k)))
            felt[found[-1]] = 1e9
        assert made[b].tolist() == found
    values, at = numbers(2, 3, 7), torch.tensor([[0, 4], [6, 1]], dtype=torch.int32)
    grad = numbers(2, 3, 2, seed=1)
    wanted = differences(lambda one: torch.stack([one[0][:, [0, 4]], one[1][:, [6, 1]]]), [values], 0, grad)
    close(auction.gather_points_grad(grad, at, 7), wanted, 1e-6)
