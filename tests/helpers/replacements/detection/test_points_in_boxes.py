"""Points in boxes and pooling by boxes, against loops over points and boxes."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tests.helpers.replacements.common import close, differences, module, numbers, torch

BATCH, BOXES, POINTS = 2, 4, 40


def _scene() -> tuple[Any, Any]:
    boxes = numbers(BATCH, BOXES, 7, seed=1)
    boxes[..., 3:6] = boxes[..., 3:6] * 0.3 + 1
    boxes[..., 6] *= 4
    boxes[:, 3, :3] = 50  # holds nothing
    return boxes, numbers(BATCH, POINTS, 3, seed=2) * 1.2


def _local(point: Any, box: Any) -> tuple[float, float, float]:
    x, y, z = (point[axis].item() - box[axis].item() for axis in range(3))
    turn = -box[6].item()
    return x * math.cos(turn) - y * math.sin(turn), x * math.sin(turn) + y * math.cos(turn), z


def _inside(point: Any, box: Any, margin: float = 1e-5) -> bool:
    x, y, z = _local(point, box)
    return abs(z) <= box[5] / 2 and abs(x) < box[3] / 2 + margin and abs(y) < box[4] / 2 + margin


def test_which_box() -> None:
    pool, (boxes, points) = module("points_in_boxes"), _scene()
    idx = torch.full((BATCH, POINTS), -5, dtype=torch.int32)
    assert pool.points_in_boxes_gpu(boxes, points, idx) == 1
    for b, p in itertools.product(range(BATCH), range(POINTS)):
        assert idx[b, p] == next((k for k in range(BOXES) if _inside(points[b, p], boxes[b, k])), -5)
    assert len(set(idx.flatten().tolist())) > 2
    flags = torch.zeros(BOXES, POINTS, dtype=torch.int32)
    points[0, 0], boxes[0, 0] = torch.tensor([1.005, 0, 0]), torch.tensor([0.0, 0, 0, 2, 2, 2, 0])
    assert pool.points_in_boxes_cpu(boxes[0], points[0], flags) == 1
    wanted = [[int(_inside(points[0, p], boxes[0, k], 1e-2)) for p in range(POINTS)] for k in range(BOXES)]
    assert flags.tolist() == wanted
    assert flags[0, 0] == 1


def _pooled(points: Any, boxes: Any, features: Any, size: tuple[int, int, int], most: int, method: int) -> Any:
    """Features, which are the largest, and the lists of the cells."""
    channels = features.shape[1]
    pooled = torch.full((BOXES, *size, channels), 3.0).double()
    argmax = torch.full((BOXES, *size, channels), -1)
    lists: dict[tuple[int, ...], list[int]] = {}
    for k, p in itertools.product(range(BOXES), range(POINTS)):
        if _inside(points[p], boxes[k]):
            local = _local(points[p], boxes[k])
            at = [
                min(
                    max(int((local[axis] + boxes[k, 3 + axis] / 2) / (boxes[k, 3 + axis] / size[axis])), 0),
                    size[axis] - 1,
                )
                for axis in range(3)
            ]
            if len(lists.setdefault((k, *at), [])) < most:
                lists[(k, *at)].append(p)
    for cell, held in lists.items():
        for c in range(channels):
            if method == 1:
                pooled[(*cell, c)] = sum(features[p, c].item() for p in held) / len(held)
            else:
                best = max(held, key=lambda p: (features[p, c].item(), -p))
                pooled[(*cell, c)], argmax[(*cell, c)] = features[best, c], best
    return pooled, argmax, lists


@pytest.mark.parametrize("method", [0, 1])
@pytest.mark.parametrize(("size", "most"), [((2, 1, 3), 20), ((1, 1, 1), 4)])
def test_pooling_by_cells(size: tuple[int, int, int], most: int, method: int) -> None:
    pool, (boxes, points) = module("points_in_boxes"), _scene()
    boxes, points, features = boxes[0], points[0], numbers(POINTS, 3, seed=5)
    features[::3] = features[0]  # equal ones: the first counts
    lists = torch.zeros(BOXES, *size, most + 1, dtype=torch.int32)
    argmax = torch.zeros(BOXES, *size, 3, dtype=torch.int32)
    pooled = torch.full((BOXES, *size, 3), 3.0).double()
    assert pool.roiaware_pool3d_forward(boxes, points, features, argmax, lists, pooled, method) == 1
    wanted, which, cells = _pooled(points, boxes, features, size, most, method)
    close(pooled, wanted)
    for cell in itertools.product(range(BOXES), *map(range, size)):
        held = cells.get(cell, [])
        assert lists[cell][: len(held) + 1].tolist() == [len(held), *held]
    if method == 0:
        assert torch.equal(argmax.long(), which)
    features = numbers(POINTS, 3, seed=6)
    pool.roiaware_pool3d_forward(boxes, points, features, argmax, lists.zero_(), pooled, method)
    grad, of_features = numbers(*pooled.shape, seed=7), torch.ones_like(features)
    assert pool.roiaware_pool3d_backward(lists, argmax, grad, of_features, method) == 1

    def again(features: Any) -> Any:
        return _pooled(points, boxes, features, size, most, method)[0]

    close(of_features - 1, differences(again, [features], 0, grad), 1e-6)


@pytest.mark.parametrize("number", [3, 60])
def test_points_of_a_box(number: int) -> None:
    pool, (boxes, points) = module("points_in_boxes"), _scene()
    features = numbers(BATCH, POINTS, 2, seed=3)
    pooled, flags = torch.full((BATCH, BOXES, number, 5), 7.0).double(), torch.zeros(BATCH, BOXES, dtype=torch.int32)
    assert pool.roipoint_pool3d_forward(points, boxes, features, pooled, flags) == 1
    for b, k in itertools.product(range(BATCH), range(BOXES)):
        held = [p for p in range(POINTS) if _inside(points[b, p], boxes[b, k])][:number]
        assert flags[b, k] == (not held)
        for s in range(number):
            row = (
                torch.cat([points[b, held[s % len(held)]], features[b, held[s % len(held)]]])
                if held
                else torch.full((5,), 7.0)
            )
            close(pooled[b, k, s], row)
