"""Deformable convolution, version 2 (Zhu et al., 2019)."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from npuify.simulator.operators.autograd import vector_jacobian
from npuify.simulator.operators.checks import require
from npuify.simulator.operators.table import DERIVATIVES, DOCUMENTS, operator

_SOURCE = (
    f"{DOCUMENTS}（beta）torch_npu-npu_deformable_conv2d.md; "
    "Ascend/op-plugin@517f2e7d test/test_base_ops/test_deformable_conv2d.py"
)


def sampled(
    x: torch.Tensor,
    offset: torch.Tensor,
    kernel: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
) -> torch.Tensor:
    """The input at the moved places times the masks: (N, C, out_height * kernel_height, out_width * kernel_width).

    Channels of ``offset`` are all x offsets, all y offsets, all masks; each ordered by group, kernel row and column.
    """
    batch, channels, height, width = x.shape
    rows, columns = kernel
    _, moved, out_h, out_w = offset.shape
    name = "npu_deformable_conv2d"
    require(
        moved == 3 * groups * rows * columns, name, f"offset has {moved} channels, not {3 * groups * rows * columns}"
    )
    parts = offset.reshape(batch, 3, groups, rows, columns, out_h, out_w)
    device, dtype = x.device, x.dtype
    base_x = (torch.arange(out_w, device=device, dtype=dtype) * stride[3] - padding[2]) + torch.arange(
        columns, device=device, dtype=dtype
    ).view(columns, 1, 1) * dilation[3]
    base_y = (torch.arange(out_h, device=device, dtype=dtype).view(out_h, 1) * stride[2] - padding[0]) + torch.arange(
        rows, device=device, dtype=dtype
    ).view(rows, 1, 1, 1) * dilation[2]
    place_x, place_y = parts[:, 0] + base_x, parts[:, 1] + base_y
    mask = parts[:, 2]
    low_x, low_y = place_x.floor(), place_y.floor()
    part = x.reshape(batch, groups, channels // groups, height * width)
    total = torch.zeros((), dtype=dtype, device=device)
    for step_y in (0, 1):
        for step_x in (0, 1):
            row, column = low_y + step_y, low_x + step_x
            weight = (1 - (place_y - row).abs()) * (1 - (place_x - column).abs())
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            index = (row.clamp(0, height - 1) * width + column.clamp(0, width - 1)).long()
            flat = index.reshape(batch, groups, 1, -1).expand(-1, -1, channels // groups, -1)
            values = part.gather(3, flat).reshape(batch, groups, channels // groups, *index.shape[2:])
            total = total + values * (weight * inside * mask).unsqueeze(2)
    # (N, G, C/G, kh, kw, oh, ow) -> (N, C, oh, kh, ow, kw)
    ordered = total.permute(0, 1, 2, 5, 3, 6, 4)
    return ordered.reshape(batch, channels, out_h * rows, out_w * columns)


def _formula(a: Any, r: tuple[Any, ...], g: tuple[Any, ...]) -> tuple[Any, ...]:
    found = torch.ops.npu.npu_deformable_conv2dbk(
        a.input,
        g[0],
        r[1],
        a.weight,
        a.offset,
        a.kernel_size,
        a.stride,
        a.padding,
        a.dilation,
        a.groups,
        a.deformable_groups,
        a.modulated,
    )
    return (*found[:3], found[3] if a.bias is not None else None)


@operator(
    "npu_deformable_conv2d",
    source=_SOURCE,
    gradients=("input", "weight", "offset", "bias"),
    formula=_formula,
    note="layout NCHW",
)
def npu_deformable_conv2d(
    input: torch.Tensor,
    weight: torch.Tensor,
    offset: torch.Tensor,
    bias: torch.Tensor | None,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int] = [1, 1, 1, 1],  # noqa: B006
    groups: int = 1,
    deformable_groups: int = 1,
    modulated: bool = True,
) -> tuple[torch.Tensor, torch.Tensor]:
    name = "npu_deformable_conv2d"
    require(modulated, name, "only version 2 (modulated=True) is supported")
    require(
        len(stride) == 4 and len(padding) == 4 and len(dilation) == 4, name, "stride, padding, dilation have 4 numbers"
    )
    values = sampled(input, offset, list(kernel_size), list(stride), list(padding), list(dilation), deformable_groups)
    return functional.conv2d(values, weight, bias, stride=list(kernel_size), groups=groups), values


@operator("npu_deformable_conv2dbk", source=DERIVATIVES)
def npu_deformable_conv2dbk(
    input: torch.Tensor,
    grad_output: torch.Tensor,
    offset_out: torch.Tensor,
    weight: torch.Tensor,
    offset: torch.Tensor,
    kernel_size: list[int],
    stride: list[int],
    padding: list[int],
    dilation: list[int] = [1, 1, 1, 1],  # noqa: B006
    groups: int = 1,
    deformable_groups: int = 1,
    modulated: bool = True,
) -> tuple[torch.Tensor, ...]:
    def again(x: torch.Tensor, w: torch.Tensor, o: torch.Tensor) -> torch.Tensor:
        values = sampled(x, o, list(kernel_size), list(stride), list(padding), list(dilation), deformable_groups)
        return functional.conv2d(values, w, stride=list(kernel_size), groups=groups)

    found = vector_jacobian(again, [input, weight, offset], [grad_output])
    return (*found, grad_output.sum(dim=(0, 2, 3)))
