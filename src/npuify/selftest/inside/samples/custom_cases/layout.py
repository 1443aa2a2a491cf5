"""Shapes, types and places of elements: nothing is computed but which come first."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812

from npuify.selftest.inside.samples.custom_cases.case import Case, npu

CASES = [
    Case(
        "npu_confusion_transpose, first transpose",
        {"x": (2, 3, 4, 6)},
        lambda x: npu().npu_confusion_transpose(x, (0, 2, 1, 3), (2, 4, 18), True),
        lambda x: x.permute(0, 2, 1, 3).reshape(2, 4, 18),
    ),
    Case(
        "npu_confusion_transpose, first reshape",
        {"x": (2, 3, 4, 6)},
        lambda x: npu().npu_confusion_transpose(x, (1, 2, 0), (2, 12, 6), False),
        lambda x: x.reshape(2, 12, 6).permute(1, 2, 0),
    ),
    Case("npu_format_cast", {"x": (2, 3)}, lambda x: npu().npu_format_cast(x, 29), lambda x: x * 1),
    Case("npu_dtype_cast", {"x": (2, 3)}, lambda x: npu().npu_dtype_cast(x, 6), lambda x: x.float()),
    Case(
        "npu_transpose",
        {"x": (2, 3, 4)},
        lambda x: npu().npu_transpose(x, [2, 0, 1]),
        lambda x: x.permute(2, 0, 1),
        gradient_of=(),
    ),
    Case(
        "npu_broadcast",
        {"x": (1, 3)},
        lambda x: npu().npu_broadcast(x, [4, 3]),
        lambda x: x.expand(4, 3),
        gradient_of=(),
    ),
    Case(
        "npu_reshape", {"x": (2, 6)}, lambda x: npu().npu_reshape(x, [3, 4]), lambda x: x.reshape(3, 4), gradient_of=()
    ),
    Case(
        "npu_slice", {"x": (4, 6)}, lambda x: npu().npu_slice(x, [1, 2], [2, 3]), lambda x: x[1:3, 2:5], gradient_of=()
    ),
    Case(
        "npu_pad",
        {"x": (2, 3)},
        lambda x: npu().npu_pad(x, [1, 0, 2, 3]),
        lambda x: F.pad(x, [2, 3, 1, 0]),
        gradient_of=(),
    ),
    Case(
        "npu_stride_copy",
        {"x": (12,)},
        lambda x: npu().npu_stride_copy(x, [2, 3], [5, 2], 1),
        lambda x: x.as_strided((2, 3), (5, 2), 1),
        gradient_of=(),
    ),
    Case(
        "npu_indexing",
        {"x": (4, 6)},
        lambda x: npu().npu_indexing(x, [1, 0], [4, 6], [2, 3]),
        lambda x: x[1:4:2, 0:6:3],
        gradient_of=(),
    ),
    Case("npu_max", {"x": (3, 5)}, lambda x: npu().npu_max(x, 1)[0], lambda x: x.max(1).values),
    Case(
        "npu_max keepdim",
        {"x": (3, 5)},
        lambda x: npu().npu_max(x, 0, True)[0],
        lambda x: x.max(0, keepdim=True).values,
    ),
    Case("npu_min", {"x": (3, 5)}, lambda x: npu().npu_min(x, 1)[0], lambda x: x.min(1).values),
    Case(
        "npu_sort_v2",
        {"x": (3, 5)},
        lambda x: npu().npu_sort_v2(x, -1, True),
        lambda x: x.sort(-1, True).values,
        gradient_of=(),
    ),
    Case(
        "npu_gather_sparse_index",
        {"x": (4, 3)},
        lambda x: npu().npu_gather_sparse_index(x, torch.tensor([[1, 0], [3, 1]])),
        lambda x: x[torch.tensor([[1, 0], [3, 1]])],
    ),
]
