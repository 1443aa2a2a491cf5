"""Losses of classification."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812

from npuify.selftest.inside.samples.custom_cases.case import Case, npu

TARGET = torch.tensor([1, 4, 0, 2, 3])
CLASS_WEIGHT = torch.tensor([0.3, 1.0, 0.5, 0.9, 0.2], dtype=torch.float64)

CASES = [
    Case(
        "npu_softmax_cross_entropy_with_logits",
        {"x": (3, 5), "y": (3, 5)},
        lambda x, y: npu().npu_softmax_cross_entropy_with_logits(x, y),
        lambda x, y: -(y * torch.log_softmax(x, -1)).sum(-1),
        without_gradient=("y",),
    ),
    *[
        Case(
            f"npu_cross_entropy_loss {reduction}",
            {"x": (5, 5)},
            lambda x, how=reduction: npu().npu_cross_entropy_loss(
                x, TARGET, CLASS_WEIGHT.to(torch.float64), how, ignore_index=3, label_smoothing=0.1
            )[:2],
            lambda x, how=reduction: (
                F.cross_entropy(
                    x, TARGET, CLASS_WEIGHT.to(x.dtype), reduction=how, ignore_index=3, label_smoothing=0.1
                ).reshape(-1),
                torch.log_softmax(x, -1),
            ),
            low_precision=False,
        )
        for reduction in ("mean", "sum", "none")
    ],
]
