"""Overlaps of turned boxes against clipping one polygon by the other, in double precision."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tests.helpers.replacements.common import module, numbers, torch

Point = tuple[float, float]


def _corners(box: list[float]) -> list[Point]:
    """Of a box with a centre, sizes and a heading, against the clock."""
    x, y, wide, high, angle = box
    around = [(-wide, -high), (wide, -high), (wide, high), (-wide, high)]
    cosine, sine = math.cos(angle), math.sin(angle)
    return [(x + (a * cosine - b * sine) / 2, y + (a * sine + b * cosine) / 2) for a, b in around]


def _side(a: Point, b: Point, p: Point) -> float:
    return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])


def _clipped(subject: list[Point], by: list[Point]) -> float:
    for a, b in zip(by, [*by[1:], by[0]], strict=True):
        kept: list[Point] = []
        for p, q in zip(subject, [*subject[1:], *subject[:1]], strict=True):
            of_p, of_q = _side(a, b, p), _side(a, b, q)
            if of_p >= 0:
                kept.append(p)
            if of_p * of_q < 0:
                share = of_p / (of_p - of_q)
                kept.append((p[0] + share * (q[0] - p[0]), p[1] + share * (q[1] - p[1])))
        subject = kept
    return abs(sum(p[0] * q[1] - p[1] * q[0] for p, q in zip(subject, [*subject[1:], *subject[:1]], strict=True))) / 2


def _boxes(number: int, seed: int) -> Any:
    """(number, 7): x, y, z, three sizes, a heading."""
    made = numbers(number, 7, seed=seed)
    made[:, :2] *= 3
    made[:, 3:6] = 1.7 + made[:, 3:6]
    made[:, 6] *= 4
    return made.float()


def _as_corners(boxes: Any) -> Any:
    """The same boxes as x1, y1, x2, y2 and an angle that turns the other way."""
    half = boxes[:, 3:5] / 2
    return torch.cat([boxes[:, :2] - half, boxes[:, :2] + half, -boxes[:, 6:]], 1)


def _plain(boxes: Any) -> list[list[float]]:
    return [[one[0], one[1], one[3], one[4], one[6]] for one in boxes.double().tolist()]


def _near_an_edge(a: list[Point], b: list[Point], margin: float = 0.03) -> bool:
    """Whether a corner lies so near to an edge of the other box that the kernel's margin counts."""
    edges = [
        (p, abs(_side(c, d, p)) / math.dist(c, d))
        for one, other in ((a, b), (b, a))
        for p in one
        for c, d in zip(other, [*other[1:], other[0]], strict=True)
    ]
    return any(apart < margin for _, apart in edges)


@pytest.mark.parametrize("form", ["sizes", "corners"])
def test_overlaps(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bev = module("boxes_bev")
    monkeypatch.setattr(bev, "_PAIRS", 30)  # several slices
    a, b = _boxes(14, 1), _boxes(9, 2)
    area, share = torch.zeros(14, 9), torch.zeros(14, 9)
    if form == "sizes":
        assert bev.boxes_overlap_bev(a, b, area) == bev.boxes_iou_bev(a, b, share) == 1
    else:
        one, two = _as_corners(a), _as_corners(b)
        assert bev.corner_boxes_overlap_bev(one, two, area) == bev.corner_boxes_iou_bev(one, two, share) == 1
    compared = 0
    for i, j in itertools.product(range(14), range(9)):
        one, two = _plain(a)[i], _plain(b)[j]
        if form == "sizes" and _near_an_edge(_corners(one), _corners(two)):
            continue
        wanted = _clipped(_corners(one), _corners(two))
        compared += wanted > 0
        assert area[i, j].item() == pytest.approx(wanted, abs=1e-4)
        both = one[2] * one[3] + two[2] * two[3] - wanted
        assert share[i, j].item() == pytest.approx(wanted / both, abs=1e-4)
    assert compared > 15


def test_special_places() -> None:
    """One box twice, a quarter turned, side by side, one in the other, far away; and a corner within the margin."""
    bev = module("boxes_bev")
    box = torch.tensor([[0.0, 0, 0, 2, 1, 1, 0.3]]).repeat(6, 1)
    other = box.clone()
    other[1, 6] += math.pi / 2
    other[2, 6] = box[2, 6] = 0
    other[2, 0] = 2
    other[3, 3:5] = 0.1
    other[4, 0] = 9
    box[5], other[5] = torch.tensor([0, 0, 0, 2, 2, 1, 0]), torch.tensor([2.004, 0, 0, 2, 2, 1, 0])
    area = torch.zeros(6, 1)
    assert bev.boxes_aligned_overlap_bev(box, other, area) == 1
    assert area[:, 0].tolist() == pytest.approx([2, 1, 0, 0.01, 0, 0.008], abs=1e-4)
    assert bev.boxes_aligned_iou_bev(box, other, area) == 1
    assert area[:, 0].tolist() == pytest.approx([1, 1 / 3, 0, 0.005, 0, 0.008 / 7.992], abs=1e-4)
    other[5, 0] = 2.02
    bev.boxes_aligned_overlap_bev(box, other, area)
    assert area[5] == 0


def _greedy(shares: Any, threshold: float) -> list[int]:
    kept: list[int] = []
    for at in range(len(shares)):
        if all(shares[one][at] <= threshold for one in kept):
            kept.append(at)
    return kept


@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.9])
def test_suppression(threshold: float) -> None:
    bev, boxes = module("boxes_bev"), _boxes(40, 3)
    shares, keep = torch.zeros(40, 40), torch.zeros(40, dtype=torch.long)
    bev.boxes_iou_bev(boxes, boxes, shares)
    wanted = _greedy(shares.tolist(), threshold)
    assert bev.nms(boxes, keep, threshold) == len(wanted)
    assert keep[: len(wanted)].tolist() == wanted
    corners = _as_corners(boxes)
    bev.corner_boxes_iou_bev(corners, corners, shares)
    wanted = _greedy(shares.tolist(), threshold)
    assert bev.corner_nms(corners, keep, threshold, 0) == len(wanted)
    assert keep[: len(wanted)].tolist() == wanted
    upright = [[one[0], one[1], one[2], one[3], 0.0] for one in _plain(boxes)]
    shares = [
        [
            _clipped(_corners(a), _corners(b)) / (a[2] * a[3] + b[2] * b[3] - _clipped(_corners(a), _corners(b)))
            for b in upright
        ]
        for a in upright
    ]
    wanted = _greedy(shares, threshold)
    for function, given in ((bev.nms_normal, boxes), (bev.corner_nms_normal, corners)):
        assert function(given, keep, threshold) == len(wanted)
        assert keep[: len(wanted)].tolist() == wanted
    assert bev.nms(boxes[:0], keep, threshold) == 0
