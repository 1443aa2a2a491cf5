"""Products of matrices, and convolutions."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812

from npuify.selftest.inside.samples.custom_cases.case import Case, npu

KEPT = torch.tensor([[True, True, False, True, True], [False, True, True, True, False]])

CASES = [
    Case(
        "npu_linear",
        {"x": (3, 4), "w": (5, 4), "b": (5,)},
        lambda x, w, b: npu().npu_linear(x, w, b),
        lambda x, w, b: x @ w.t() + b,
    ),
    Case(
        "npu_linear without bias",
        {"x": (3, 4), "w": (5, 4)},
        lambda x, w: npu().npu_linear(x, w),
        lambda x, w: x @ w.t(),
    ),
    Case(
        "npu_bmmV2",
        {"x": (2, 3, 4), "y": (2, 4, 5)},
        lambda x, y: npu().npu_bmmV2(x, y, []),
        lambda x, y: torch.bmm(x, y),
    ),
    Case(
        "npu_bmmV2, one of them two-dimensional",
        {"x": (2, 3, 4), "y": (4, 5)},
        lambda x, y: npu().npu_bmmV2(x, y, []),
        lambda x, y: x @ y,
    ),
    Case(
        "npu_convolution",
        {"x": (2, 4, 6, 6), "w": (6, 2, 3, 3), "b": (6,)},
        lambda x, w, b: npu().npu_convolution(x, w, b, [2, 1], [1, 1], [1, 1], 2),
        lambda x, w, b: F.conv2d(x, w, b, (2, 1), 1, 1, 2),
    ),
    Case(
        "npu_convolution_transpose",
        {"x": (2, 4, 5, 5), "w": (4, 3, 3, 3)},
        lambda x, w: npu().npu_convolution_transpose(x, w, None, [1, 1], [1, 1], [2, 2], [1, 1], 1),
        lambda x, w: F.conv_transpose2d(x, w, None, 2, 1, 1),
    ),
    Case(
        "npu_conv2d",
        {"x": (2, 4, 6, 6), "w": (6, 4, 3, 3)},
        lambda x, w: npu().npu_conv2d(x, w, None, [1, 1], [0, 0], [1, 1], 1),
        lambda x, w: F.conv2d(x, w),
        gradient_of=(),
    ),
    Case(
        "npu_transpose_batchmatmul",
        {"x": (3, 2, 4), "w": (2, 4, 5)},
        lambda x, w: npu().npu_transpose_batchmatmul(x, w, perm_x1=[1, 0, 2], perm_y=[1, 0, 2]),
        lambda x, w: torch.einsum("sbk,bkn->sbn", x, w),
        gradient_of=(),
    ),
    Case(
        "npu_masked_causal_conv1d",
        {"x": (5, 2, 4), "w": (3, 4)},
        lambda x, w: npu().npu_masked_causal_conv1d(x, w, mask=KEPT),
        lambda x, w: (
            F.conv1d(F.pad(x.permute(1, 2, 0), [2, 0]), w.t().unsqueeze(1), groups=4).permute(2, 0, 1)
            * KEPT.t().unsqueeze(-1)
        ),
    ),
]
