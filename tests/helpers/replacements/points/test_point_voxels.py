"""Operators of point-voxel networks against loops over points."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tests.helpers.replacements.common import close, differences, module, numbers, torch


def _apart(a: Any, b: Any) -> float:
    return sum((x - y) ** 2 for x, y in zip(a.tolist(), b.tolist(), strict=True))


def test_gathered_and_grouped() -> None:
    pvcnn, features = module("point_voxels"), numbers(2, 3, 6)
    at = torch.tensor([[0, 5, 5, 2], [1, 1, 3, 4]], dtype=torch.int32)
    groups = at.reshape(2, 2, 2)

    def gathered(features: Any) -> Any:
        return torch.stack([torch.stack([features[b, :, int(k)] for k in at[b]], 1) for b in range(2)])

    def grouped(features: Any) -> Any:
        return gathered(features).reshape(2, 3, 2, 2)

    for forward, backward, places, wanted in (
        (pvcnn.gather_features_forward, pvcnn.gather_features_backward, at, gathered),
        (pvcnn.grouping_forward, pvcnn.grouping_backward, groups, grouped),
    ):
        made = forward(features, places)
        close(made, wanted(features))
        grad = numbers(*made.shape, seed=1)
        close(backward(grad, places, 6), differences(wanted, [features], 0, grad), 1e-6)


@pytest.mark.parametrize(("radius", "number"), [(0.6, 4), (0.01, 3), (9.0, 30)])
def test_balls(radius: float, number: int) -> None:
    points, centers = numbers(2, 3, 20).float(), numbers(2, 3, 5, seed=1).float()
    made = module("point_voxels").ball_query(centers, points, radius, number)
    for b, m in itertools.product(range(2), range(5)):
        near = [k for k in range(20) if _apart(points[b, :, k], centers[b, :, m]) < radius**2][:number]
        assert made[b, m].tolist() == (near + near[:1] * (number - len(near)) if near else [0] * number)


@pytest.mark.parametrize("grid", [False, True])
def test_samples(grid: bool) -> None:
    """Pairs of threads are compared: the lowest of those with the largest distance wins, then its first point."""
    number, samples = 600, 7
    points = numbers(1, 3, number).float()
    if grid:
        points = torch.tensor([[[k % 3, k // 3 % 3, k % 2] for k in range(number)]]).transpose(1, 2).float()
    taken, far = [0], [1e38] * number
    for _ in range(1, samples):
        last = points[0, :, taken[-1]]
        far = [min(far[k], float(((points[0, :, k] - last) ** 2).sum())) for k in range(number)]
        best = [max(((far[k], -k) for k in range(thread, number, 512)), default=(-1.0, 0)) for thread in range(512)]
        winner = max(range(512), key=lambda thread: (best[thread][0], -thread))
        taken.append(-best[winner][1])
    assert module("point_voxels").furthest_point_sampling(points, samples)[0].tolist() == taken


@pytest.mark.parametrize("centers", [8, 3, 2])
def test_three_nearest(centers: int) -> None:
    pvcnn, points, known = module("point_voxels"), numbers(1, 3, 6), numbers(1, 3, centers, seed=1)
    points[0, :, 0] = known[0, :, 1]  # in the same place
    features = numbers(1, 2, centers, seed=2)

    def interpolated(features: Any) -> Any:
        out = torch.zeros(1, 2, 6).double()
        for n in range(6):
            near = sorted((_apart(points[0, :, n], known[0, :, k]), k) for k in range(centers))[:3]
            near += [(1e10, 0)] * (3 - len(near))
            a, b, c = (min(max(one, 1e-10), 1e10) for one, _ in near)
            total = a * b + a * c + b * c
            for share, (_, k) in zip((b * c / total, a * c / total, a * b / total), near, strict=True):
                out[0, :, n] += share * features[0, :, k]
        return out

    made, at, shares = pvcnn.three_nearest_neighbors_interpolate_forward(points, known, features)
    close(made, interpolated(features), 1e-7)
    grad = numbers(1, 2, 6, seed=3)
    back = pvcnn.three_nearest_neighbors_interpolate_backward(grad, at, shares, centers)
    close(back, differences(interpolated, [features], 0, grad), 1e-6)


def test_mean_by_cell() -> None:
    pvcnn, features, r = module("point_voxels"), numbers(2, 3, 9), 2
    coords = torch.randint(0, r, (2, 3, 9), generator=torch.Generator().manual_seed(3), dtype=torch.int32)

    def written_out(features: Any) -> Any:
        out = torch.zeros(2, 3, r**3).double()
        for b, cell in itertools.product(range(2), range(r**3)):
            own = [n for n in range(9) if int(coords[b, 0, n] * r * r + coords[b, 1, n] * r + coords[b, 2, n]) == cell]
            for n in own:
                out[b, :, cell] += features[b, :, n] / len(own)
        return out

    out, cell, counts = pvcnn.avg_voxelize_forward(features, coords, r)
    close(out, written_out(features))
    assert counts.sum(1).tolist() == [9, 9]
    grad = numbers(*out.shape, seed=1)
    close(pvcnn.avg_voxelize_backward(grad, cell, counts), differences(written_out, [features], 0, grad), 1e-6)


def test_back_from_cells() -> None:
    pvcnn, features, r = module("point_voxels"), numbers(1, 2, 27), 3
    coords = numbers(1, 3, 8, seed=1, low=0, high=2)
    coords[0, :, 0], coords[0, :, 1] = torch.tensor([2.0, 2, 2]), torch.tensor([1.0, 0.5, 2])  # on the border

    def written_out(features: Any) -> Any:
        out = torch.zeros(1, 2, 8).double()
        for n in range(8):
            x, y, z = coords[0, :, n].tolist()
            for i, j, k in itertools.product(range(r), range(r), range(r)):
                share = max(0, 1 - abs(x - i)) * max(0, 1 - abs(y - j)) * max(0, 1 - abs(z - k))
                out[0, :, n] += share * features[0, :, i * r * r + j * r + k]
        return out

    out, at, shares = pvcnn.trilinear_devoxelize_forward(r, True, coords, features)
    close(out, written_out(features))
    assert int(at.max()) < 27
    grad = numbers(*out.shape, seed=2)
    close(pvcnn.trilinear_devoxelize_backward(grad, at, shares, r), differences(written_out, [features], 0, grad), 1e-6)
    again, *rest = pvcnn.trilinear_devoxelize_forward(r, False, coords, features)
    assert torch.equal(again, out)
    assert [len(one) for one in rest] == [1, 1]
    assert math.prod(at.shape) == 64
