"""Overlaps of quadrilaterals against counting points of a fine grid, and against clipping; suppression against a loop."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.helpers.replacements.common import module, numbers, torch
from tests.helpers.replacements.detection.test_boxes_bev import _clipped


def _turned(x: float, y: float, wide: float, high: float, angle: float) -> list[tuple[float, float]]:
    cosine, sine = math.cos(angle), math.sin(angle)
    corners = [(-wide / 2, -high / 2), (wide / 2, -high / 2), (wide / 2, high / 2), (-wide / 2, high / 2)]
    return [(x + a * cosine - b * sine, y + a * sine + b * cosine) for a, b in corners]


def _share(one: Any, two: Any, kind: Any = torch.float64) -> float:
    given = [torch.tensor([corners], dtype=kind) for corners in (one, two)]
    return module("polygon_nms")._shares(*given).item()


@pytest.mark.parametrize("seed", range(40))
def test_turned_boxes(seed: int) -> None:
    values = numbers(2, 5, seed=seed).tolist()
    boxes = [(x * 2, y * 2, wide + 1.6, high + 1.6, angle * 4) for x, y, wide, high, angle in values]
    one, two = (_turned(*box) for box in boxes)
    common = _clipped(one, two)
    wanted = common / (boxes[0][2] * boxes[0][3] + boxes[1][2] * boxes[1][3] - common)
    assert _share(one, two) == pytest.approx(wanted, abs=1e-9)
    assert _share(one[::-1], two) == pytest.approx(wanted, abs=1e-9)
    assert _share(two, one[::-1]) == pytest.approx(wanted, abs=1e-9)
    far = [[(x + 900, y + 400) for x, y in corners] for corners in (one, two)]
    assert _share(*far, kind=torch.float32) == pytest.approx(wanted, abs=1e-3)


SQUARE = [(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0)]


@pytest.mark.parametrize(
    ("other", "wanted"),
    [
        (SQUARE, 1.0),
        (SQUARE[2:] + SQUARE[:2], 1.0),
        ([(1.0, 0.0), (3.0, 0.0), (3.0, 2.0), (1.0, 2.0)], 1 / 3),
        ([(2.0, 0.0), (4.0, 0.0), (4.0, 2.0), (2.0, 2.0)], 0.0),
        ([(0.5, 0.5), (1.5, 0.5), (1.5, 1.5), (0.5, 1.5)], 0.25),
        ([(5.0, 5.0), (6.0, 5.0), (6.0, 6.0), (5.0, 6.0)], 0.0),
    ],
)
def test_edges_in_common(other: list[tuple[float, float]], wanted: float) -> None:
    assert _share(SQUARE, other) == pytest.approx(wanted, abs=1e-12)
    assert _share(other, SQUARE) == pytest.approx(wanted, abs=1e-12)


def test_what_is_not_convex() -> None:
    """An arrow: counted on a grid of points."""
    arrow, box = [(0.0, 0.0), (4.0, 2.0), (0.0, 4.0), (1.5, 2.0)], [(0.5, 0.2), (3.0, 1.0), (2.5, 3.5), (0.4, 3.0)]

    def holds(corners: list[tuple[float, float]], x: Any, y: Any) -> Any:
        odd = torch.zeros_like(x, dtype=torch.bool)
        for (x1, y1), (x2, y2) in zip(corners, corners[1:] + corners[:1], strict=True):
            if y1 != y2:
                odd ^= ((y1 > y) != (y2 > y)) & (x < (x2 - x1) * (y - y1) / (y2 - y1) + x1)
        return odd

    step = torch.arange(2000, dtype=torch.float64) / 2000 * 4 + 0.001
    y, x = torch.meshgrid(step, step, indexing="ij")
    one, two = holds(arrow, x, y), holds(box, x, y)
    assert _share(arrow, box) == pytest.approx(((one & two).sum() / (one | two).sum()).item(), abs=2e-3)


def test_nothing_in_both() -> None:
    """Where the union is nothing, the kernel gives 1."""
    point = [(1.0, 1.0)] * 4
    assert _share(point, point) == 1.0


@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.6])
def test_suppression(threshold: float, monkeypatch: pytest.MonkeyPatch) -> None:
    made = module("polygon_nms")
    monkeypatch.setattr(made, "_PAIRS", 100)  # several slices
    values = numbers(30, 5, seed=3).tolist()
    corners = [_turned(x * 3, y * 3, wide + 1.6, high + 1.6, angle * 4) for x, y, wide, high, angle in values]
    scores = numbers(30, seed=4).tolist()
    given = torch.tensor([[one for corner in box for one in corner] for box in corners])
    given = torch.cat([given, torch.tensor(scores)[:, None]], 1)
    kept: list[int] = []
    for place in sorted(range(30), key=lambda place: -scores[place]):
        if all(_share(corners[place], corners[other]) <= threshold for other in kept):
            kept.append(place)
    assert made.nms_poly(given, threshold).tolist() == kept
    assert made.poly_nms(given, threshold).tolist() == sorted(kept)
    assert made.poly_nms(given[:0], threshold).shape == (0,)
