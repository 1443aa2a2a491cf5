"""Position-sensitive pooling against a loop over regions, cells and samples."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tests.helpers.replacements.common import along, close, module, numbers, torch

ROIS = torch.tensor([[0, 1.0, 2, 5, 6], [1, -3, -2, 2, 3], [1, 0.4, 3.6, 2.5, 3.4], [0, 20, 20, 30, 30]]).double()
CASES = [
    # dim, groups, pooled, parts, samples, classes (0: nothing moves), scale
    (2, 2, 2, 2, 2, 1, 1.0),
    (4, 1, 3, 2, 1, 2, 0.5),
    (2, 3, 3, 3, 2, 0, 1.0),
]


def _round(x: float) -> float:
    return math.copysign(math.floor(abs(x) + 0.5), x)


def _at(plane: Any, y: float, x: float) -> float:
    x1, x2, y1, y2 = math.floor(x), math.ceil(x), math.floor(y), math.ceil(y)
    dx, dy = x - x1, y - y1
    upper = (1 - dx) * plane[y1, x1].item() + dx * plane[y1, x2].item()
    return (1 - dy) * upper + dy * ((1 - dx) * plane[y2, x1].item() + dx * plane[y2, x2].item())


def _written_out(data: Any, trans: Any, case: tuple[Any, ...]) -> tuple[Any, Any]:
    dim, groups, size, parts, samples, classes, scale = case
    height, width = data.shape[2:]
    out, counts = torch.zeros(len(ROIS), dim, size, size).double(), torch.zeros(len(ROIS), dim, size, size).double()
    for n, c, i, j in itertools.product(*map(range, out.shape)):
        image, *ends = ROIS[n].tolist()
        left, top = _round(ends[0]) * scale - 0.5, _round(ends[1]) * scale - 0.5
        wide = max((_round(ends[2]) + 1) * scale - 0.5 - left, 0.1)
        high = max((_round(ends[3]) + 1) * scale - 0.5 - top, 0.1)
        right = down = 0.0
        if classes:
            part = i * parts // size, j * parts // size
            one = 2 * (c // (dim // classes))
            right, down = trans[n, one][part].item() * 0.3, trans[n, one + 1][part].item() * 0.3
        plane = data[int(image), (c * groups + i * groups // size) * groups + j * groups // size]
        values = []
        for a, b in itertools.product(range(samples), range(samples)):
            y = i * high / size + top + down * high + a * high / size / samples
            x = j * wide / size + left + right * wide + b * wide / size / samples
            if -0.5 <= x <= width - 0.5 and -0.5 <= y <= height - 0.5:
                values.append(_at(plane, min(max(y, 0), height - 1), min(max(x, 0), width - 1)))
        counts[n, c, i, j] = len(values)
        out[n, c, i, j] = sum(values) / len(values) if values else 0
    return out, counts


@pytest.mark.parametrize("case", CASES)
def test_pooling(case: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    psroi = module("psroi")
    monkeypatch.setattr(psroi, "_AT_ONCE", 60)  # several slices
    dim, groups, size, parts, samples, classes, scale = case
    data, trans = numbers(2, dim * groups**2, 6, 7), numbers(4, 2 * max(classes, 1), parts, parts, seed=1)
    sizes = (int(not classes), scale, dim, groups, size, parts, samples, 0.3)
    wanted, counts = _written_out(data, trans, case)
    out, count = torch.ones_like(wanted), torch.ones_like(wanted)
    psroi.deform_psroi_pooling_forward(data, ROIS, trans, out, count, *sizes)
    close(out, wanted)
    close(count, counts)
    grad = numbers(*wanted.shape, seed=2)
    of_data, of_trans = torch.ones_like(data), torch.ones_like(trans)
    psroi.deform_psroi_pooling_backward(grad, data, ROIS, trans, count, of_data, of_trans, *sizes)
    for which, made in enumerate((of_data - 1, of_trans - 1)):
        along(lambda a, b: _written_out(a, b, case)[0], [data, trans], which, grad, made)
    again, other = psroi.dcn_v2_psroi_pooling_forward(data, ROIS, trans, *sizes)
    close(again, wanted)
    close(other, counts)
    back = psroi.dcn_v2_psroi_pooling_backward(grad, data, ROIS, trans, other, *sizes)
    close(back[0], of_data - 1)
    close(back[1], of_trans - 1)
