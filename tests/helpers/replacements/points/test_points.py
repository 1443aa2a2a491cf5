"""Operators on sets of points against loops that follow their definition."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tests.helpers.replacements.common import close, differences, module, numbers, torch


def _set(number: int, seed: int, batch: int = 2) -> Any:
    return numbers(batch, number, 3, seed=seed).float()


def _apart(a: Any, b: Any) -> float:
    return sum((x - y) ** 2 for x, y in zip(a.tolist(), b.tolist(), strict=True))


# --- neighbours ---


@pytest.mark.parametrize(
    ("points", "radius", "nsample"), [(40, 0.5, 8), (5, 0.7, 8), (30, 0.01, 4), (30, 9.0, 6), (1, 0.5, 3)]
)
def test_ball_query(points: int, radius: float, nsample: int) -> None:
    xyz, new_xyz = _set(points, 1), _set(7, 2)
    wanted, there = torch.zeros(2, 7, nsample, dtype=torch.int32), torch.zeros(2, 7, dtype=torch.bool)
    for n, j in itertools.product(range(2), range(7)):
        near = [k for k in range(points) if _apart(new_xyz[n, j], xyz[n, k]) < radius**2][:nsample]
        there[n, j] = bool(near)
        for place in range(nsample if near else 0):
            wanted[n, j, place] = near[place] if place < len(near) else near[0]
    made = module("point_sets").ball_query(new_xyz, xyz, radius, nsample)
    assert made.dtype == torch.int32
    assert torch.equal(made, wanted)
    into = torch.full_like(wanted, -7)
    module("point_sets").ball_query_into(2, points, 7, radius, nsample, new_xyz, xyz, into)
    assert torch.equal(into[there], wanted[there])
    assert (into[~there] == -7).all()


def _three(unknown: Any, known: Any) -> tuple[list[float], list[int]]:
    found = sorted((_apart(unknown, one), at) for at, one in enumerate(known))[:3]
    found += [(math.inf, 0)] * (3 - len(found))
    return [distance for distance, _ in found], [at for _, at in found]


@pytest.mark.parametrize("known", [20, 3, 2, 1])
def test_three_nn(known: int) -> None:
    unknowns, knows = _set(9, 3), _set(known, 4)
    knows[:, -1] = knows[:, 0]  # points in the same place: the first counts
    distances, places = module("point_sets").three_nn(unknowns, knows)
    into, into_places = torch.empty(2, 9, 3), torch.empty(2, 9, 3, dtype=torch.int32)
    module("point_sets").three_nn_into(2, 9, known, unknowns, knows, into, into_places)
    assert torch.equal(into, distances)
    assert torch.equal(into_places, places)
    for n, j in itertools.product(range(2), range(9)):
        wanted, at = _three(unknowns[n, j], knows[n])
        assert places[n, j].tolist() == at
        assert distances[n, j].tolist() == pytest.approx(wanted, rel=1e-5)


# --- samples ---


def _of_threads(points: Any, temp: list[float], samples: int, most: int, skip: bool) -> tuple[list[int], list[float]]:
    """What a block of threads does, one after the other: each looks at every ``size``-th point, then they are paired."""
    number = len(points)
    size = max(1, min(2 ** int(math.log(number) / math.log(2)), most))
    taken = [0]
    for _ in range(1, samples):
        best = []
        for thread in range(size):
            mine = (-1.0, 0)
            for k in range(thread, number, size):
                if skip and float((points[k] ** 2).sum()) <= 1e-3:
                    continue
                apart = ((points[k] - points[taken[-1]]) ** 2).tolist()
                temp[k] = min(float(torch.tensor(apart[0]) + apart[1] + apart[2]), temp[k])
                mine = (temp[k], k) if temp[k] > mine[0] else mine
            best.append(mine)
        while len(best) > 1:
            half = len(best) // 2
            best = [best[at + half] if best[at + half][0] > best[at][0] else best[at] for at in range(half)]
        taken.append(best[0][1])
    return taken, temp


def _grid(number: int) -> Any:
    """Points of which many are equally far from each other."""
    return torch.tensor([[float(at % 3), float(at // 3 % 3), float(at // 9 % 2)] for at in range(number)])


@pytest.mark.parametrize("points", [_set(50, 5)[0], _grid(18), _grid(33), _grid(7), torch.zeros(4, 3), _grid(1)])
def test_furthest_point_sampling(points: Any) -> None:
    samples = min(len(points), 12)
    made = module("point_sets").furthest_point_sampling(points[None].repeat(2, 1, 1), samples)
    wanted, _ = _of_threads(points, [1e10] * len(points), samples, 512, skip=True)
    assert made.tolist() == [wanted, wanted]
    temp, idx = torch.full((1, len(points)), 1e10), torch.zeros(1, samples, dtype=torch.int32)
    module("point_sets").furthest_point_sampling_into(1, len(points), samples, points[None], temp, idx)
    wanted, left = _of_threads(points, [1e10] * len(points), samples, 1024, skip=False)
    assert idx.tolist() == [wanted]
    assert temp[0].tolist() == pytest.approx(left, rel=1e-5)


def test_more_points_than_threads_are_taken_in_the_kernels_order() -> None:
    order = module("point_sets")._order_of_threads(9, 4, "cpu").tolist()
    assert order == [0, 4, 8, 2, 6, 1, 5, 3, 7]


# --- groups and interpolation ---


def test_groups_and_their_gradient() -> None:
    points, idx = numbers(2, 3, 6), torch.tensor([[[0, 5, 5], [1, 2, 0]], [[3, 3, 3], [4, 0, 1]]], dtype=torch.int32)
    sets = module("point_sets")

    def written_out(points: Any) -> Any:
        out = torch.zeros(2, 3, 2, 3, dtype=torch.float64)
        for n, c, j, k in itertools.product(range(2), range(3), range(2), range(3)):
            out[n, c, j, k] = points[n, c, int(idx[n, j, k])]
        return out

    weight = numbers(2, 3, 2, 3, seed=3)
    close(sets.group_points(points, idx), written_out(points))
    wanted = differences(written_out, [points], 0, weight)
    close(sets.group_points_grad(weight, idx, 6), wanted, 1e-6)
    close(sets.gather_points(points, idx[:, 0]), written_out(points)[:, :, 0])
    close(
        sets.gather_points_grad(weight[:, :, 0], idx[:, 0], 6),
        differences(lambda one: written_out(one)[:, :, 0], [points], 0, weight[:, :, 0]),
        1e-6,
    )
    out, grad = torch.zeros(2, 3, 2, 3, dtype=torch.float64), torch.ones(2, 3, 6, dtype=torch.float64)
    sets.group_points_into(2, 3, 6, 2, 3, points, idx, out)
    sets.group_points_grad_into(2, 3, 6, 2, 3, weight, idx, grad)
    close(out, written_out(points))
    close(grad, wanted + 1, 1e-6)
    out, grad = torch.zeros(2, 3, 3, dtype=torch.float64), torch.zeros(2, 3, 6, dtype=torch.float64)
    sets.gather_points_into(2, 3, 6, 3, points, idx[:, 0], out)
    sets.gather_points_grad_into(2, 3, 6, 3, weight[:, :, 0], idx[:, 0], grad)
    close(out, written_out(points)[:, :, 0])
    close(grad, sets.gather_points_grad(weight[:, :, 0], idx[:, 0], 6))


def test_interpolation_and_its_gradient() -> None:
    points, shares = numbers(2, 3, 5), numbers(2, 4, 3, seed=1)
    idx = torch.randint(5, (2, 4, 3), generator=torch.Generator().manual_seed(3)).int()
    sets = module("point_sets")

    def written_out(points: Any) -> Any:
        out = torch.zeros(2, 3, 4, dtype=torch.float64)
        for n, c, j, k in itertools.product(range(2), range(3), range(4), range(3)):
            out[n, c, j] += points[n, c, int(idx[n, j, k])] * shares[n, j, k]
        return out

    weight = numbers(2, 3, 4, seed=3)
    close(sets.three_interpolate(points, idx, shares), written_out(points))
    wanted = differences(written_out, [points], 0, weight)
    close(sets.three_interpolate_grad(weight, idx, shares, 5), wanted, 1e-6)
    out, grad = torch.zeros(2, 3, 4, dtype=torch.float64), torch.ones(2, 3, 5, dtype=torch.float64)
    sets.three_interpolate_into(2, 3, 5, 4, points, idx, shares, out)
    sets.three_interpolate_grad_into(2, 3, 4, 5, weight, idx, shares, grad)
    close(out, written_out(points))
    close(grad, wanted + 1, 1e-6)


# --- the chamfer distance ---


@pytest.mark.parametrize("dimensions", [2, 3, 5])
def test_chamfer(dimensions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chamfer = module("chamfer")
    monkeypatch.setattr(chamfer, "_AT_ONCE", 40)  # several slices
    a, b = numbers(2, 7, dimensions), numbers(2, 5, dimensions, seed=1)
    b[:, 4] = b[:, 1]

    def written_out(a: Any, b: Any) -> tuple[Any, Any]:
        found = [[min((_apart(one, other), at) for at, other in enumerate(b[n])) for one in a[n]] for n in range(2)]
        distance = torch.tensor([[one for one, _ in row] for row in found], dtype=torch.float64)
        return distance, torch.tensor([[at for _, at in row] for row in found])

    dist1, dist2 = torch.zeros(2, 7, dtype=torch.float64), torch.zeros(2, 5, dtype=torch.float64)
    idx1, idx2 = torch.zeros(2, 7, dtype=torch.int32), torch.zeros(2, 5, dtype=torch.int32)
    assert chamfer.forward(a, b, dist1, dist2, idx1, idx2) == 1
    for made, place, wanted in ((dist1, idx1, written_out(a, b)), (dist2, idx2, written_out(b, a))):
        close(made, wanted[0])
        assert torch.equal(place.long(), wanted[1])
    again = chamfer.forward_returned(a, b)
    for one, other in zip(again, (dist1, dist2, idx1, idx2), strict=True):
        assert torch.equal(one, other)
    weight1, weight2 = numbers(2, 7, seed=2), numbers(2, 5, seed=3)
    grad_a, grad_b = torch.zeros_like(a), torch.zeros_like(b)
    chamfer.backward(a, b, grad_a, grad_b, weight1, weight2, idx1, idx2)

    def both(a: Any, b: Any) -> Any:
        return torch.cat([written_out(a, b)[0], written_out(b, a)[0]], 1)

    b[:, 4] += 1e-3  # where two points are in one place the distance has no derivative
    grad_a, grad_b = torch.zeros_like(a), torch.zeros_like(b)
    chamfer.forward(a, b, dist1, dist2, idx1, idx2)
    chamfer.backward(a, b, grad_a, grad_b, weight1, weight2, idx1, idx2)
    weight = torch.cat([weight1, weight2], 1)
    close(grad_a, differences(both, [a, b], 0, weight), 1e-5)
    close(grad_b, differences(both, [a, b], 1, weight), 1e-5)
    of_a, of_b = chamfer.backward_returned(a, b, idx1, idx2, weight1, weight2)
    close(of_a, grad_a)
    close(of_b, grad_b)
