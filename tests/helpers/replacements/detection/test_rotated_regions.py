"""Region align of turned regions against a loop over samples, in double precision, and finite differences."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tests.helpers.replacements.common import close, differences, module, numbers, torch


def _at(image: Any, y: float, x: float) -> float:
    height, width = image.shape
    if y < -1 or y > height or x < -1 or x > width:
        return 0.0
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = min(int(y), height - 1), min(int(x), width - 1)
    down, right = min(top + 1, height - 1), min(left + 1, width - 1)
    b, a = y - top, x - left
    upper = (1 - a) * image[top, left] + a * image[top, right]
    return (1 - b) * upper + b * ((1 - a) * image[down, left] + a * image[down, right])


def _aligned(features: Any, rois: Any, high: int, wide: int, scale: float, number: int, form: str) -> Any:
    """``form``: radians, degrees, or whole (no offset, at least one pixel, turning the other way)."""
    out = torch.zeros(len(rois), features.shape[1], high, wide, dtype=torch.float64)
    for n, (batch, x, y, width, height, angle) in enumerate(rois.tolist()):
        offset = 0.0 if form == "whole" else 0.5
        x, y, width, height = x * scale - offset, y * scale - offset, width * scale, height * scale
        if form == "whole":
            width, height = max(width, 1.0), max(height, 1.0)
        turn = math.radians(angle) if form == "degrees" else angle
        rows = number if number > 0 else math.ceil(height / high)
        columns = number if number > 0 else math.ceil(width / wide)
        for c, i, j in itertools.product(range(features.shape[1]), range(high), range(wide)):
            total = 0.0
            for row, column in itertools.product(range(rows), range(columns)):
                up = -height / 2 + i * height / high + (row + 0.5) * height / high / rows
                right = -width / 2 + j * width / wide + (column + 0.5) * width / wide / columns
                cosine, sine = math.cos(turn), math.sin(turn)
                if form == "whole":
                    at_x, at_y = right * cosine - up * sine + x, right * sine + up * cosine + y
                else:
                    at_y, at_x = up * cosine - right * sine + y, up * sine + right * cosine + x
                total = total + _at(features[int(batch), c], at_y, at_x)
            out[n, c, i, j] = total / max(rows * columns, 1)
    return out


ROIS = torch.tensor(
    [
        [0, 5.0, 4.0, 6.0, 3.0, 0.4],
        [1, 3.0, 5.0, 2.0, 7.0, -1.3],
        [0, 9.5, 0.5, 5.0, 4.0, 2.2],
        [1, 4.0, 4.0, 0.3, 0.2, 0.0],
    ],
    dtype=torch.float64,
)


def _called(form: str, features: Any, rois: Any, number: int) -> Any:
    made = module("rotated_regions")
    if form == "whole":
        out = torch.full((len(rois), features.shape[1], 2, 3), 7.0, dtype=features.dtype)
        assert made.forward(features, rois, 2, 3, 0.8, number, out) == 1
        return out
    function = made.forward_in_degrees if form == "degrees" else made.roi_align_rotated_forward
    return function(features, rois, 0.8, 2, 3, number)


@pytest.mark.parametrize("form", ["radians", "degrees", "whole"])
@pytest.mark.parametrize("number", [2, 0])
def test_rotated_regions(form: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made, features = module("rotated_regions"), numbers(2, 2, 7, 9)
    monkeypatch.setattr(made, "_AT_ONCE", 500)  # several slices
    rois = ROIS.clone()
    if form == "degrees":
        rois[:, 5] *= 180 / math.pi
    close(_called(form, features, rois, number), _aligned(features, rois, 2, 3, 0.8, number, form))
    grad = numbers(len(rois), 2, 2, 3, seed=4)
    if form == "whole":
        got = torch.ones_like(features)
        assert made.backward(grad, rois, 2, 3, 0.8, number, got) == 1
        got = got - 1
    else:
        function = made.backward_in_degrees if form == "degrees" else made.roi_align_rotated_backward
        got = function(grad, rois, 0.8, 2, 3, 2, 2, 7, 9, number)
    close(got, differences(lambda one: _called(form, one, rois, number), [features], 0, grad), 1e-6)


def test_no_regions_and_half_precision() -> None:
    made, features = module("rotated_regions"), numbers(2, 2, 7, 9)
    assert made.roi_align_rotated_forward(features, ROIS[:0], 1.0, 2, 3, 2).shape == (0, 2, 2, 3)
    assert (
        made.roi_align_rotated_backward(features.new_zeros(0, 2, 2, 3), ROIS[:0], 1.0, 2, 3, 2, 2, 7, 9, 2).sum() == 0
    )
    half = made.roi_align_rotated_forward(features.half(), ROIS.half(), 0.8, 2, 3, 2)
    assert half.dtype == torch.float16
    close(half.double(), _aligned(features, ROIS, 2, 3, 0.8, 2, "radians"), 2e-2)
    assert made.forward(features, ROIS[:, :5], 2, 3, 0.8, 2, half) == 0
