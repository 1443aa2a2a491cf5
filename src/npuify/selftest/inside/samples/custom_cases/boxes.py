"""How far boxes overlap."""

from __future__ import annotations

import math

import torch

from npuify.selftest.inside.samples.custom_cases.case import Case, npu


def overlap_measure(a: torch.Tensor, b: torch.Tensor, kind: str) -> torch.Tensor:
    """GIoU, DIoU, CIoU of boxes (4, n) given by centre and size, one at a time."""
    results = []
    for (ax, ay, aw, ah), (bx, by, bw, bh) in zip(a.t(), b.t(), strict=True):
        left, right = torch.max(ax - aw / 2, bx - bw / 2), torch.min(ax + aw / 2, bx + bw / 2)
        top, bottom = torch.max(ay - ah / 2, by - bh / 2), torch.min(ay + ah / 2, by + bh / 2)
        shared = (right - left).clamp(min=0) * (bottom - top).clamp(min=0)
        union = aw * ah + bw * bh - shared
        hull_w = torch.max(ax + aw / 2, bx + bw / 2) - torch.min(ax - aw / 2, bx - bw / 2)
        hull_h = torch.max(ay + ah / 2, by + bh / 2) - torch.min(ay - ah / 2, by - bh / 2)
        value = shared / union
        if kind == "giou":
            value = value - (hull_w * hull_h - union) / (hull_w * hull_h)
        else:
            value = value - ((ax - bx) ** 2 + (ay - by) ** 2) / (hull_w**2 + hull_h**2)
        if kind == "ciou":
            v = 4 / math.pi**2 * (torch.atan(bw / bh) - torch.atan(aw / ah)) ** 2
            value = value - v * (v / (1 - shared / union + v)).detach()
        results.append(value)
    return torch.stack(results)


CASES = [
    Case(
        "npu_giou",
        {"a": (4, 6), "b": (4, 6)},
        lambda a, b: npu().npu_giou(a, b, True, False, 0),
        lambda a, b: overlap_measure(a, b, "giou").reshape(-1, 1),
        positive=("a", "b"),
        low_precision=False,
    ),
    Case(
        "npu_diou",
        {"a": (4, 6), "b": (4, 6)},
        lambda a, b: npu().npu_diou(a, b, True, False, 0),
        lambda a, b: overlap_measure(a, b, "diou").reshape(1, -1),
        positive=("a", "b"),
        low_precision=False,
    ),
    Case(
        "npu_ciou",
        {"a": (4, 6), "b": (4, 6)},
        lambda a, b: npu().npu_ciou(a, b, True, False, 0, True),
        lambda a, b: overlap_measure(a, b, "ciou").reshape(1, -1),
        positive=("a", "b"),
        low_precision=False,
    ),
]
