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
    together = torch.cat([boxes, scores[:, None]], 1)
    assert module("detection").nms_with_scores(together, threshold).tolist() == made.tolist()
    assert module("detection").nms_with_scores(together[:0], threshold).tolist() == []


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


def _aligned(
    maps: Any, rows: int, columns: int, scale: float, samples: int, behind: float = 0.0, least: float = 1.0
) -> Any:
    out = torch.zeros(len(REGIONS), maps.shape[1], rows, columns, dtype=torch.float64)
    for r, (image, x1, y1, x2, y2) in enumerate(REGIONS.tolist()):
        high, wide = max((y2 + behind - y1) * scale, least), max((x2 + behind - x1) * scale, least)
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


@pytest.mark.parametrize(("rows", "columns", "scale", "samples"), [(2, 3, 1.0, 2), (3, 2, 0.5, 0), (1, 1, 0.25, 1)])
def test_regions_that_end_behind_their_last_pixel(rows: int, columns: int, scale: float, samples: int) -> None:
    detection, maps = module("detection"), numbers(2, 2, 6, 7)

    def again(maps: Any) -> Any:
        return _aligned(maps, rows, columns, scale, samples, 1.0, 0.0)

    wanted = again(maps)
    out, grad = torch.zeros_like(wanted), numbers(*wanted.shape, seed=4)
    assert detection.roi_align_forward_into(maps, REGIONS, rows, columns, scale, samples, out) == 1
    close(out, wanted)
    of_maps = torch.ones_like(maps)
    assert detection.roi_align_backward_into(grad, REGIONS, rows, columns, scale, samples, of_maps) == 1
    along(again, [maps], 0, grad, of_maps - 1)


def _pooled_between(maps: Any, rows: int, columns: int, scale: float, regions: Any) -> tuple[Any, Any]:
    """Cells as wide as they are, and none where a region ends before it begins."""
    height, width = maps.shape[2:]
    shape = (len(regions), maps.shape[1], rows, columns)
    out, places = torch.full(shape, 7.0, dtype=torch.float64), torch.full(shape, -7)
    for r, (image, x1, y1, x2, y2) in enumerate(regions.tolist()):
        high, wide = (y2 + 1 - y1) * scale, (x2 + 1 - x1) * scale
        if high <= 0 or wide <= 0:
            continue
        for c, i, j in itertools.product(range(maps.shape[1]), range(rows), range(columns)):
            ends = [
                [
                    min(max(int(edge), 0), size)
                    for edge in (math.floor(k * cell + first), math.ceil((k + 1) * cell + first))
                ]
                for k, cell, first, size in (
                    (i, high / rows, y1 * scale, height),
                    (j, wide / columns, x1 * scale, width),
                )
            ]
            cells = [(y, x) for y in range(*ends[0]) for x in range(*ends[1])]
            best = max(cells, key=lambda at: maps[int(image), c][at].item(), default=None)
            out[r, c, i, j] = maps[int(image), c][best] if best else 0
            places[r, c, i, j] = best[0] * width + best[1] if best else -1
    return out, places


@pytest.mark.parametrize(("rows", "columns", "scale"), [(2, 3, 1.0), (3, 2, 0.5), (1, 1, 0.25)])
def test_roi_pool_without_rounding(rows: int, columns: int, scale: float) -> None:
    detection, maps = module("detection"), numbers(2, 2, 6, 7)
    regions = torch.cat([REGIONS, torch.tensor([[0.0, 5, 5, 3, 3], [1, 20, 20, 30, 30]]).double()])
    wanted, places = _pooled_between(maps, rows, columns, scale, regions)
    out, at = torch.full_like(wanted, 7), torch.full(wanted.shape, -7, dtype=torch.int32)
    assert detection.roi_pool_forward_into(maps, regions, rows, columns, scale, out, at) == 1
    close(out, wanted)
    assert torch.equal(at.long(), places)
    grad, of_maps = numbers(*wanted.shape, seed=3), torch.ones_like(maps)
    assert detection.roi_pool_backward_into(grad, regions, at, scale, of_maps) == 1
    expected = torch.ones_like(maps)
    for r, c, i, j in itertools.product(*map(range, wanted.shape)):
        if places[r, c, i, j] >= 0:
            expected[int(regions[r, 0]), c].view(-1)[places[r, c, i, j]] += grad[r, c, i, j]
    close(of_maps, expected)


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
