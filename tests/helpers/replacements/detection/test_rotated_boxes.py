"""Overlaps of turned boxes in degrees against clipping one polygon by the other, in double precision."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.helpers.replacements.common import module, numbers, torch
from tests.helpers.replacements.detection.test_boxes_bev import _clipped, _corners


def _boxes(number: int, seed: int) -> Any:
    made = numbers(number, 5, seed=seed)
    made[:, :2] *= 3
    made[:, 2:4] += 1.7
    made[:, 4] *= 400
    return made


def _share(one: list[float], two: list[float]) -> float:
    """The angle turns the other way here than in the function that is borrowed."""
    x, y, wide, high, degrees = one
    a = _corners([x, y, wide, high, -degrees * 0.01745329251])
    x, y, wide2, high2, degrees = two
    common = _clipped(a, _corners([x, y, wide2, high2, -degrees * 0.01745329251]))
    return common / (wide * high + wide2 * high2 - common)


def test_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    rotated = module("rotated_boxes")
    monkeypatch.setattr(rotated, "_PAIRS", 30)  # several slices
    one, two = _boxes(12, 1), _boxes(9, 2)
    for kind, tolerance in ((torch.float64, 1e-6), (torch.float32, 1e-4)):
        made = rotated.box_iou_rotated(one.to(kind), two.to(kind))
        for i, j in itertools.product(range(12), range(9)):
            assert made[i, j].item() == pytest.approx(_share(one[i].tolist(), two[j].tolist()), abs=tolerance)
    assert rotated.box_iou_rotated(one[:0], two).shape == (0, 9)


@pytest.mark.parametrize(
    ("other", "wanted"),
    [
        ([0, 0, 2, 1, 30], 1),
        ([0, 0, 2, 1, 210], 1),
        ([0, 0, 1, 2, 120], 1),
        ([0, 0, 2, 1, 120], 1 / 3),
        ([9, 0, 2, 1, 30], 0),
        ([0, 0, 0, 1, 30], 0),
        ([0, 0, 0.2, 0.1, 77], 0.01),
    ],
)
def test_special_places(other: list[float], wanted: float) -> None:
    box, other_box = torch.tensor([[0.0, 0, 2, 1, 30]]), torch.tensor([[float(one) for one in other]])
    made = module("rotated_boxes").box_iou_rotated(box, other_box)
    assert made.item() == pytest.approx(wanted, abs=1e-5)
    side = torch.tensor([[0.0, 0, 2, 2, 0]]), torch.tensor([[2.0, 0, 2, 2, 0]])
    assert module("rotated_boxes").box_iou_rotated(*side).item() == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.9])
def test_suppression(threshold: float) -> None:
    boxes, scores = _boxes(30, 3), numbers(30, seed=4).round(decimals=1)  # some are equal
    kept: list[int] = []
    for at in sorted(range(30), key=lambda one: (-scores[one].item(), one)):
        if all(_share(boxes[at].tolist(), boxes[one].tolist()) <= threshold for one in kept):
            kept.append(at)
    assert module("rotated_boxes").nms_rotated(boxes, scores, threshold).tolist() == kept
    boxes[:, 4] *= 0.01745329251
    assert module("rotated_boxes").nms_rotated_radians(boxes, scores, threshold).tolist() == kept
    assert module("rotated_boxes").nms_rotated(boxes[:0], scores[:0], threshold).tolist() == []


def test_boxes_that_turn_the_other_way() -> None:
    """S2ANet's take radians, and have the corners of the box mirrored."""
    rotated, one, two = module("rotated_boxes"), _boxes(6, 5), _boxes(7, 6)
    one[:, 4] *= 0.01745329251
    two[:, 4] *= 0.01745329251
    made = rotated.box_iou_rotated_back(one, two)
    for i, j in itertools.product(range(6), range(7)):
        a, b = (_corners(box.tolist()) for box in (one[i], two[j]))
        common = _clipped(a, b)
        wanted = common / (float(one[i, 2] * one[i, 3] + two[j, 2] * two[j, 3]) - common)
        assert made[i, j].item() == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("threshold", [0.05, 0.3])
def test_suppression_within_a_label(threshold: float) -> None:
    rotated, boxes = module("rotated_boxes"), _boxes(40, 7)
    scores, labels = numbers(40, seed=8), torch.arange(40) % 3
    shares = rotated.box_iou_rotated_back(boxes, boxes)
    for given in (None, labels):
        kept: list[int] = []
        for place in scores.sort(descending=True).indices.tolist():
            same = [other for other in kept if given is None or given[other] == given[place]]
            if all(shares[place, other] <= threshold for other in same):
                kept.append(place)
        if given is None:
            assert rotated.nms_rotated_back(boxes, scores, threshold).tolist() == kept
        else:
            assert rotated.ml_nms_rotated(boxes, scores, labels, threshold).tolist() == kept
            assert len(kept) > len(rotated.nms_rotated_back(boxes, scores, threshold))
