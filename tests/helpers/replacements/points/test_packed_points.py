"""Operators on packed point sets against loops over points."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tests.helpers.replacements.common import close, differences, module, numbers, torch

SIZES, QUERIES = [9, 1, 14], [4, 2, 5]
"""The sizes of three sets, and how many queries each has."""


def _ends(sizes: list[int]) -> Any:
    return torch.tensor(sizes, dtype=torch.int32).cumsum(0).int()


def _counts(sizes: list[int]) -> Any:
    return torch.tensor(sizes, dtype=torch.int32)


def _begin(sizes: list[int], which: int) -> int:
    return sum(sizes[:which])


def _which(at: int) -> int:
    """The set of a query."""
    return next(one for one in range(3) if at < _begin(QUERIES, one + 1))


def _apart(a: Any, b: Any) -> float:
    return sum((x - y) ** 2 for x, y in zip(a.tolist(), b.tolist(), strict=True))


def _points() -> tuple[Any, Any]:
    return numbers(sum(SIZES), 3, seed=1).float(), numbers(sum(QUERIES), 3, seed=2).float()


def _nearest(xyz: Any, query: Any, which: int, number: int) -> list[tuple[float, int]]:
    begin = _begin(SIZES, which)
    return sorted((_apart(xyz[k], query), k) for k in range(begin, begin + SIZES[which]))[:number]


@pytest.mark.parametrize("nsample", [1, 4, 12])
def test_nearest(nsample: int, monkeypatch: pytest.MonkeyPatch) -> None:
    packed, (xyz, new_xyz) = module("packed_points"), _points()
    monkeypatch.setattr(packed, "_AT_ONCE", 30)  # several slices
    for function, missing in ((packed.knn_query, lambda one: -1), (packed.knnquery, lambda one: _begin(SIZES, one))):
        idx, dist = torch.zeros(len(new_xyz), nsample, dtype=torch.int32), torch.zeros(len(new_xyz), nsample)
        function(len(new_xyz), nsample, xyz, new_xyz, _ends(SIZES), _ends(QUERIES), idx, dist)
        for at in range(len(new_xyz)):
            found = _nearest(xyz, new_xyz[at], _which(at), nsample)
            found += [(1e10, missing(_which(at)))] * (nsample - len(found))
            assert idx[at].tolist() == [place for _, place in found]
            assert dist[at].tolist() == pytest.approx([distance for distance, _ in found], rel=1e-5)


def _of_threads(points: Any, temp: list[float], samples: int, size: int) -> list[int]:
    """What a block of threads takes, one sample after the other."""
    taken = [0]
    for _ in range(1, samples):
        best = []
        for thread in range(size):
            mine = (-1.0, 0)
            for k in range(thread, len(points), size):
                x, y, z = ((points[k] - points[taken[-1]]) ** 2).tolist()
                temp[k] = min(float(torch.tensor(x) + y + z), temp[k])
                mine = (temp[k], k) if temp[k] > mine[0] else mine
            best.append(mine)
        while len(best) > 1:
            half = len(best) // 2
            best = [best[at + half] if best[at + half][0] > best[at][0] else best[at] for at in range(half)]
        taken.append(best[0][1])
    return taken


@pytest.mark.parametrize("grid", [False, True])
def test_samples(grid: bool) -> None:
    packed, (xyz, _) = module("packed_points"), _points()
    if grid:  # many points equally far
        xyz = torch.tensor([[float(at % 3), float(at // 3 % 3), 0.0] for at in range(len(xyz))])
    samples = [4, 1, 6]
    for stacked in (False, True):
        temp, idx = torch.full((len(xyz),), 1e10), torch.zeros(sum(samples), dtype=torch.int32)
        if stacked:
            assert packed.stack_furthest_point_sampling(xyz, temp, _counts(SIZES), idx, _counts(samples)) == 1
        else:
            largest = torch.tensor(max(SIZES))  # callers hand over tensors, too
            packed.furthest_point_sampling(3, largest, xyz, _ends(SIZES), _ends(samples), temp, idx)
        for which in range(3):
            begin, far = _begin(SIZES, which), [1e10] * SIZES[which]
            threads = 1024 if stacked else 8  # the largest power of two in 14
            wanted = _of_threads(xyz[begin : begin + SIZES[which]], far, samples[which], threads)
            made = idx[_begin(samples, which) : _begin(samples, which + 1)]
            assert (made - begin).tolist() == wanted
            assert temp[begin : begin + SIZES[which]].tolist() == pytest.approx(far)


@pytest.mark.parametrize(("radius", "nsample"), [(0.8, 3), (0.05, 4), (5.0, 20)])
def test_balls(radius: float, nsample: int, monkeypatch: pytest.MonkeyPatch) -> None:
    packed, (xyz, new_xyz) = module("packed_points"), _points()
    monkeypatch.setattr(packed, "_AT_ONCE", 30)
    idx = torch.full((len(new_xyz), nsample), 7, dtype=torch.int32)
    packed.stack_ball_query(3, len(new_xyz), radius, nsample, new_xyz, _counts(QUERIES), xyz, _counts(SIZES), idx)
    for at in range(len(new_xyz)):
        begin = _begin(SIZES, _which(at))
        near = [k for k in range(SIZES[_which(at)]) if _apart(xyz[begin + k], new_xyz[at]) < radius**2][:nsample]
        wanted = near + near[:1] * (nsample - len(near)) if near else [-1] + [7] * (nsample - 1)
        assert idx[at].tolist() == wanted


def test_cells_around() -> None:
    packed, grid = module("packed_points"), (3, 4, 2)
    xyz, new_xyz = numbers(20, 3, seed=1).float(), numbers(6, 3, seed=2).float()
    table = torch.full((2, *grid), -1, dtype=torch.int32)
    for k in range(20):
        table.view(-1)[(k * 7) % 48] = k
    coords = torch.tensor([[n % 2, n % 3, n % 4, n % 2] for n in range(6)], dtype=torch.int32)
    for radius, nsample in ((1.1, 3), (0.05, 2), (9.0, 30)):
        idx = torch.full((6, nsample), 9, dtype=torch.int32)
        packed.voxel_query(6, *grid, nsample, radius, 1, 2, 1, new_xyz, xyz, coords, table, idx)
        for n in range(6):
            b, *cell = coords[n].tolist()
            found = []
            for step in itertools.product((-1, 0, 1), (-2, -1, 0, 1, 2), (-1, 0, 1)):
                z, y, x = (one + more for one, more in zip(cell, step, strict=True))
                if 0 <= z < grid[0] and 0 <= y < grid[1] and 0 <= x < grid[2]:
                    k = int(table[b, z, y, x])
                    if k >= 0 and _apart(xyz[k], new_xyz[n]) <= radius**2:
                        found.append(k)
            found = found[:nsample]
            assert idx[n].tolist() == (
                found + found[:1] * (nsample - len(found)) if found else [-1] + [9] * (nsample - 1)
            )


def test_three_nearest() -> None:
    packed, (xyz, new_xyz) = module("packed_points"), _points()
    dist, idx = torch.zeros(len(new_xyz), 3), torch.zeros(len(new_xyz), 3, dtype=torch.int32)
    packed.stack_three_nn(new_xyz, _counts(QUERIES), xyz, _counts(SIZES), dist, idx)
    for at in range(len(new_xyz)):
        found = _nearest(xyz, new_xyz[at], _which(at), 3)
        found += [(math.inf, _begin(SIZES, _which(at)))] * (3 - len(found))
        assert idx[at].tolist() == [place for _, place in found]
        assert dist[at].tolist() == pytest.approx([distance for distance, _ in found], rel=1e-5)


def test_groups_of_stacked_sets() -> None:
    packed, features = module("packed_points"), numbers(sum(SIZES), 2)
    total = sum(QUERIES)
    idx = torch.tensor([[(3 * at + s) % SIZES[_which(at)] for s in range(4)] for at in range(total)], dtype=torch.int32)

    def written_out(features: Any) -> Any:
        out = torch.zeros(total, 2, 4, dtype=torch.float64)
        for at, c, s in itertools.product(range(total), range(2), range(4)):
            out[at, c, s] = features[_begin(SIZES, _which(at)) + idx[at, s], c]
        return out

    out, weight = torch.zeros(total, 2, 4).double(), numbers(total, 2, 4, seed=3)
    packed.stack_group_points(3, total, 2, 4, features, _counts(SIZES), idx, _counts(QUERIES), out)
    close(out, written_out(features))
    grad = torch.ones(sum(SIZES), 2).double()
    packed.stack_group_points_grad(3, total, 2, sum(SIZES), 4, weight, idx, _counts(QUERIES), _counts(SIZES), grad)
    close(grad - 1, differences(written_out, [features], 0, weight), 1e-6)


# --- what is gathered by places in all sets ---

IDX = torch.tensor([[0, 3], [3, 3], [5, 1], [2, 4]], dtype=torch.int32)


def test_grouping_and_interpolation() -> None:
    packed, rows, shares = module("packed_points"), numbers(6, 3), numbers(4, 2, seed=1)

    def grouped(rows: Any) -> Any:
        return torch.stack([torch.stack([rows[int(k)] for k in line]) for line in IDX])

    def interpolated(rows: Any) -> Any:
        return torch.stack(
            [sum(w * rows[int(k)] for k, w in zip(*one, strict=True)) for one in zip(IDX, shares, strict=True)]
        )

    out, weight = torch.zeros(4, 2, 3).double(), numbers(4, 2, 3, seed=2)
    packed.grouping_forward(4, 2, 3, rows, IDX, out)
    close(out, grouped(rows))
    grad = torch.ones(6, 3).double()
    packed.grouping_backward(4, 2, 3, weight, IDX, grad)
    close(grad - 1, differences(grouped, [rows], 0, weight), 1e-6)
    out, weight = torch.ones(4, 3).double(), numbers(4, 3, seed=3)
    packed.interpolation_forward(4, 3, 2, rows, IDX, shares, out)
    close(out - 1, interpolated(rows))
    grad = torch.ones(6, 3).double()
    packed.interpolation_backward(4, 3, 2, weight, IDX, shares, grad)
    close(grad - 1, differences(interpolated, [rows], 0, weight), 1e-6)
    out = torch.zeros(4, 3).double()
    packed.stack_three_interpolate(rows, IDX, shares, out)
    close(out, interpolated(rows))
    grad = torch.ones(6, 3).double()
    packed.stack_three_interpolate_grad(weight, IDX, shares, grad)
    close(grad - 1, differences(interpolated, [rows], 0, weight), 1e-6)


def test_subtraction_and_aggregation() -> None:
    packed = module("packed_points")
    one, two, position, weight = (
        numbers(4, 5),
        numbers(6, 5, seed=1),
        numbers(4, 2, 5, seed=2),
        numbers(4, 2, 2, seed=3),
    )

    def subtracted(one: Any, two: Any) -> Any:
        return torch.stack([torch.stack([one[n] - two[int(k)] for k in IDX[n]]) for n in range(4)])

    def aggregated(two: Any, position: Any, weight: Any) -> Any:
        out = torch.zeros(4, 5).double()
        for n, s, c in itertools.product(range(4), range(2), range(5)):
            out[n, c] += (two[int(IDX[n, s]), c] + position[n, s, c]) * weight[n, s, c % 2]
        return out

    out, grad = torch.zeros(4, 2, 5).double(), numbers(4, 2, 5, seed=4)
    packed.subtraction_forward(4, 2, 5, one, two, IDX, out)
    close(out, subtracted(one, two))
    of_one, of_two = torch.ones(4, 5).double(), torch.ones(6, 5).double()
    packed.subtraction_backward(4, 2, 5, IDX, grad, of_one, of_two)
    close(of_one - 1, differences(subtracted, [one, two], 0, grad), 1e-6)
    close(of_two - 1, differences(subtracted, [one, two], 1, grad), 1e-6)
    out, grad = torch.ones(4, 5).double(), numbers(4, 5, seed=5)
    packed.aggregation_forward(4, 2, 5, 2, two, position, weight, IDX, out)
    close(out - 1, aggregated(two, position, weight))
    made = [torch.ones(6, 5).double(), torch.zeros(4, 2, 5).double(), torch.ones(4, 2, 2).double()]
    packed.aggregation_backward(4, 2, 5, 2, two, position, weight, IDX, grad, *made)
    for which, taken in ((0, 1), (1, 0), (2, 1)):
        close(made[which] - taken, differences(aggregated, [two, position, weight], which, grad), 1e-6)
