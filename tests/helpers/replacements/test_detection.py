"""Operators of detectors against loops over boxes, cells and samples."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tests.helpers.replacements.common import along, close, differences, module, numbers, torch

# --- suppression ---


def _overlap(a: list[float], b: list[float]) -> float:
    wide = max(0.0, min(a[2], b[2]) - max(a[0], b[0]) + 1)
    high = max(0.0, min(a[3], b[3]) - max(a[1], b[1]) + 1)
    areas = [(one[2] - one[0] + 1) * (one[3] - one[1] + 1) for one in (a, b)]
    return wide * high / (sum(areas) - wide * high)


def _greedy(boxes: Any, scores: Any, threshold: float) -> list[int]:
    kept: list[int] = []
    for at in sorted(range(len(boxes)), key=lambda one: (-scores[one].item(), one)):
        if all(_overlap(boxes[at].tolist(), boxes[other].tolist()) <= threshold for other in kept):
            kept.append(at)
    return sorted(kept)


@pytest.mark.parametrize("number", [1, 2, 40, 150])
@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.9])
def test_nms(number: int, threshold: float) -> None:
    corner, side = numbers(number, 2, low=0, high=30), numbers(number, 2, seed=1, low=1, high=25)
    boxes = torch.cat([corner, corner + side], 1)
    scores = numbers(number, seed=2).round(decimals=1)  # some are equal
    made = module("detection").nms(boxes, scores, threshold)
    assert made.tolist() == _greedy(boxes, scores, threshold)


def test_a_chain_of_boxes_that_suppress_each_other() -> None:
    boxes = torch.tensor([[float(3 * at), 0.0, 3.0 * at + 9, 9.0] for at in range(30)])
    scores = torch.arange(30, 0, -1).float()
    assert module("detection").nms(boxes, scores, 0.5).tolist() == _greedy(boxes, scores, 0.5)
    assert module("detection").nms(boxes[:0], scores[:0], 0.5).tolist() == []


# --- pooling of regions ---

REGIONS = torch.tensor(
    [[0, 1.2, 0.5, 6.4, 4.9], [1, -3.0, -2.0, 2.0, 3.0], [0, 4.0, 3.0, 30.0, 40.0], [1, 2.5, 2.5, 2.6, 2.6]],
    dtype=torch.float64,
)


def _sample(plane: Any, y: float, x: float) -> float:
    height, width = plane.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    y, x = min(max(y, 0.0), height - 1), min(max(x, 0.0), width - 1)
    top, left = min(int(y), height - 1), min(int(x), width - 1)
    low, right = min(top + 1, height - 1), min(left + 1, width - 1)
    down, across = y - top, x - left
    upper = plane[top, left] * (1 - across) + plane[top, right] * across
    return upper * (1 - down) + (plane[low, left] * (1 - across) + plane[low, right] * across) * down


def _aligned(maps: Any, rows: int, columns: int, scale: float, samples: int) -> Any:
    out = torch.zeros(len(REGIONS), maps.shape[1], rows, columns, dtype=torch.float64)
    for r, (image, x1, y1, x2, y2) in enumerate(REGIONS.tolist()):
        high, wide = max((y2 - y1) * scale, 1.0), max((x2 - x1) * scale, 1.0)
        down = samples if samples > 0 else math.ceil(high / rows)
        across = samples if samples > 0 else math.ceil(wide / columns)
        for c, i, j, a, b in itertools.product(
            range(maps.shape[1]), range(rows), range(columns), range(down), range(across)
        ):
            y = y1 * scale + (i + (a + 0.5) / down) * high / rows
            x = x1 * scale + (j + (b + 0.5) / across) * wide / columns
            out[r, c, i, j] += _sample(maps[int(image), c], y, x) / (down * across)
    return out


@pytest.mark.parametrize(
    ("rows", "columns", "scale", "samples"), [(2, 3, 1.0, 2), (3, 2, 0.5, 0), (2, 2, 1.0, -1), (1, 1, 0.25, 1)]
)
def test_roi_align(rows: int, columns: int, scale: float, samples: int) -> None:
    detection, maps = module("detection"), numbers(2, 2, 6, 7)
    wanted = _aligned(maps, rows, columns, scale, samples)
    close(detection.roi_align_forward(maps, REGIONS, scale, rows, columns, samples), wanted)
    close(detection.roi_align_forward(maps.float(), REGIONS.float(), scale, rows, columns, samples), wanted, 1e-4)
    grad = numbers(*wanted.shape, seed=4)
    made = detection.roi_align_backward(grad, REGIONS, scale, rows, columns, 2, 2, 6, 7, samples)
    along(lambda one: _aligned(one, rows, columns, scale, samples), [maps], 0, grad, made)


def test_no_regions() -> None:
    detection, maps = module("detection"), numbers(2, 2, 6, 7)
    assert detection.roi_align_forward(maps, REGIONS[:0], 1.0, 2, 2, 0).shape == (0, 2, 2, 2)
    assert detection.roi_pool_forward(maps, REGIONS[:0], 1.0, 2, 2)[0].shape == (0, 2, 2, 2)


def _pooled(maps: Any, rows: int, columns: int, scale: float) -> tuple[Any, Any]:
    height, width = maps.shape[2:]
    shape = (len(REGIONS), maps.shape[1], rows, columns)
    out, places = torch.zeros(shape, dtype=torch.float64), torch.full(shape, -1)
    for r, (image, *ends) in enumerate(REGIONS.tolist()):
        x1, y1, x2, y2 = (int(math.copysign(math.floor(abs(one * scale) + 0.5), one)) for one in ends)
        high, wide = max(y2 - y1 + 1, 1), max(x2 - x1 + 1, 1)
        for c, i, j in itertools.product(range(maps.shape[1]), range(rows), range(columns)):
            down = range(max(y1 + math.floor(i * high / rows), 0), min(y1 + math.ceil((i + 1) * high / rows), height))
            across = range(
                max(x1 + math.floor(j * wide / columns), 0), min(x1 + math.ceil((j + 1) * wide / columns), width)
            )
            inside = [(-maps[int(image), c, y, x].item(), y * width + x) for y in down for x in across]
            if inside:
                value, places[r, c, i, j] = min(inside)
                out[r, c, i, j] = -value
    return out, places


@pytest.mark.parametrize(("rows", "columns", "scale"), [(2, 3, 1.0), (3, 2, 0.5)])
def test_roi_pool(rows: int, columns: int, scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    detection, maps = module("detection"), numbers(2, 2, 6, 7).round(decimals=1)  # some are equal
    monkeypatch.setattr(detection, "_AT_ONCE", 200)  # several slices
    made, places = detection.roi_pool_forward(maps, REGIONS, scale, rows, columns)
    wanted, at = _pooled(maps, rows, columns, scale)
    close(made, wanted)
    assert torch.equal(places.long(), at)
    grad = numbers(*made.shape, seed=3)
    back = detection.roi_pool_backward(grad, maps, REGIONS, places, scale, rows, columns, 2, 2, 6, 7)
    expected = torch.zeros_like(maps)
    for r, c, i, j in itertools.product(*map(range, made.shape)):
        if at[r, c, i, j] >= 0:
            expected[int(REGIONS[r, 0]), c].view(-1)[at[r, c, i, j]] += grad[r, c, i, j]
    close(back, expected)


# --- the focal loss ---


def _focal(logits: Any, targets: Any, gamma: float, alpha: float) -> Any:
    out = torch.zeros_like(logits)
    for n, d in itertools.product(*map(range, logits.shape)):
        p, target = 1 / (1 + math.exp(-logits[n, d].item())), int(targets[n])
        if target == d + 1:
            out[n, d] = -alpha * (1 - p) ** gamma * math.log(p)
        elif target >= 0:
            out[n, d] = -(1 - alpha) * p**gamma * math.log(1 - p)
    return out


def test_focal_loss() -> None:
    detection, logits = module("detection"), numbers(5, 3, low=-4, high=4)
    targets = torch.tensor([0, 1, 3, -1, 2], dtype=torch.int32)
    close(detection.sigmoid_focalloss_forward(logits, targets, 3, 2.0, 0.25), _focal(logits, targets, 2.0, 0.25))
    weight = numbers(5, 3, seed=2)
    made = detection.sigmoid_focalloss_backward(logits, targets, weight, 3, 2.0, 0.25)
    close(made, differences(lambda one: _focal(one, targets, 2.0, 0.25), [logits], 0, weight), 1e-5)
    far = torch.tensor([[90.0, -90.0, 0.0]])
    assert torch.isfinite(detection.sigmoid_focalloss_forward(far, torch.tensor([2]), 3, 2.0, 0.25)).all()
