"""Pooling of regions."""

from __future__ import annotations

import math

import torch

from npuify.simulator.operators.autograd import vector_jacobian
from npuify.simulator.operators.checks import is_abstract, require, working
from npuify.simulator.operators.table import DERIVATIVES, DOCUMENTS, operator

_BETA = f"{DOCUMENTS}（beta）torch_npu-"


def bilinear(feature: torch.Tensor, y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Values of ``feature`` (C, H, W) at places (K,): (C, K). Places more than a pixel outside give 0."""
    height, width = feature.shape[-2:]
    outside = (y < -1.0) | (y > height) | (x < -1.0) | (x > width)
    y, x = y.clamp(min=0), x.clamp(min=0)
    y_low = y.floor().clamp(max=height - 1)
    x_low = x.floor().clamp(max=width - 1)
    y_high = (y_low + 1).clamp(max=height - 1)
    x_high = (x_low + 1).clamp(max=width - 1)
    ly = torch.where(y_low >= height - 1, torch.zeros_like(y), y - y_low)
    lx = torch.where(x_low >= width - 1, torch.zeros_like(x), x - x_low)
    total = torch.zeros((), dtype=feature.dtype, device=feature.device)
    for row, wy in ((y_low, 1 - ly), (y_high, ly)):
        for column, wx in ((x_low, 1 - lx), (x_high, lx)):
            total = total + feature[:, row.long(), column.long()] * (wy * wx)
    return total.masked_fill(outside, 0.0)


def roi_align(
    features: torch.Tensor,
    rois: torch.Tensor,
    scale: float,
    rows: int,
    columns: int,
    samples: int,
    end_mode: int,
) -> torch.Tensor:
    """RoIAlign (He et al., 2017) of boxes ``(image, x1, y1, x2, y2)``: (R, C, rows, columns).

    Args:
        samples: in each direction of each cell; 0: as many as the cell is large.
        end_mode: 0: sizes are differences; 1: one pixel is added to the end; 2: half a pixel is subtracted from
            both corners; 3: as 2, without a smallest size.
    """
    require(rois.dim() == 2 and rois.shape[1] == 5, "npu_roi_align", f"rois are (R, 5), not {tuple(rois.shape)}")
    require(features.dim() == 4, "npu_roi_align", f"features have 4 dimensions, not {features.dim()}")
    if is_abstract(features, rois):
        return features.new_empty((rois.shape[0], features.shape[1], rows, columns))
    kind = working(features)
    wide = features.to(kind)
    offset = 0.5 if end_mode >= 2 else 0.0
    cells = []
    for roi in rois.to(kind):
        image = int(roi[0])
        x1, y1, x2, y2 = (float(value) * scale - offset for value in roi[1:])
        grow = scale if end_mode == 1 else 0.0
        width, height = x2 + grow - x1, y2 + grow - y1
        if end_mode < 2:
            width, height = max(width, 1.0), max(height, 1.0)
        cell_h, cell_w = height / rows, width / columns
        count_h = samples if samples > 0 else max(math.ceil(cell_h), 1)
        count_w = samples if samples > 0 else max(math.ceil(cell_w), 1)
        places_y = y1 + (torch.arange(rows * count_h, device=features.device, dtype=kind) + 0.5) * cell_h / count_h
        places_x = x1 + (torch.arange(columns * count_w, device=features.device, dtype=kind) + 0.5) * cell_w / count_w
        grid_y, grid_x = torch.meshgrid(places_y, places_x, indexing="ij")
        values = bilinear(wide[image], grid_y.reshape(-1), grid_x.reshape(-1))
        values = values.reshape(-1, rows, count_h, columns, count_w)
        cells.append(values.mean(dim=(2, 4)))
    if not cells:
        return features.new_zeros((0, features.shape[1], rows, columns))
    return torch.stack(cells).to(features.dtype)


@operator(
    "npu_roi_align",
    source=f"He et al., Mask R-CNN (2017); {_BETA}npu_roi_align.md",
    note="roi_end_mode 1 to 3 follow our reading of the documentation",
)
def npu_roi_align(
    self: torch.Tensor,
    rois: torch.Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sample_num: int,
    roi_end_mode: int,
) -> torch.Tensor:
    return roi_align(self, rois, spatial_scale, pooled_height, pooled_width, sample_num, roi_end_mode)


@operator("npu_roi_alignbk", source=f"{_BETA}npu_roi_align.md", evidence="assumed")
def npu_roi_alignbk(
    self: torch.Tensor,
    rois: torch.Tensor,
    xdiff_shape: list[int],
    pooled_width: int,
    pooled_height: int,
    spatial_scale: float,
    sample_num: int,
    roi_end_mode: int | None = None,
) -> torch.Tensor:
    zeros = self.new_zeros(list(xdiff_shape))
    if is_abstract(self, rois):
        return zeros
    found = vector_jacobian(
        lambda x: roi_align(x, rois, spatial_scale, pooled_height, pooled_width, sample_num, roi_end_mode or 0),
        [zeros],
        [self],
    )
    return found[0]


def ps_roi_pool(features: torch.Tensor, rois: torch.Tensor, scale: float, group: int, channels: int) -> torch.Tensor:
    """Position-sensitive pooling (Dai et al., R-FCN, 2016); rois are (B, 5, R)."""
    name = "npu_ps_roi_pooling"
    require(rois.dim() == 3 and rois.shape[1] == 5, name, f"rois are (B, 5, R), not {tuple(rois.shape)}")
    require(
        features.shape[1] == channels * group * group, name, f"{features.shape[1]} channels, not {channels}·{group}²"
    )
    count = rois.shape[0] * rois.shape[2]
    if is_abstract(features, rois):
        return features.new_empty((count, channels, group, group))
    kind = working(features)
    height, width = features.shape[-2:]
    maps = features.to(kind).reshape(features.shape[0], channels, group, group, height, width)
    results = []
    for roi in rois.to(kind).transpose(1, 2).reshape(count, 5):
        image = min(max(int(roi[0]), 0), features.shape[0] - 1)
        x1, y1 = round(float(roi[1])) * scale, round(float(roi[2])) * scale
        x2, y2 = (round(float(roi[3])) + 1.0) * scale, (round(float(roi[4])) + 1.0) * scale
        cell_h, cell_w = max(y2 - y1, 0.1) / group, max(x2 - x1, 0.1) / group
        cells = []
        for row in range(group):
            top = min(max(math.floor(row * cell_h + y1), 0), height)
            bottom = min(max(math.ceil((row + 1) * cell_h + y1), 0), height)
            for column in range(group):
                left = min(max(math.floor(column * cell_w + x1), 0), width)
                right = min(max(math.ceil((column + 1) * cell_w + x1), 0), width)
                part = maps[image, :, row, column, top:bottom, left:right]
                cells.append(part.mean(dim=(1, 2)) if part.numel() else part.new_zeros(channels))
        results.append(torch.stack(cells, dim=-1).reshape(channels, group, group))
    return torch.stack(results).to(features.dtype)


@operator(
    "npu_ps_roi_pooling",
    source=f"Dai et al., R-FCN (2016); {_BETA}npu_ps_roi_pooling.md",
    gradients=("self",),
    formula=lambda a, r, g: (
        torch.ops.npu.npu_ps_roi_pooling_backward(
            g[0], a.rois, a.spatial_scale, a.group_size, a.output_dim, list(a.self.shape[2:])
        ),
    ),
)
def npu_ps_roi_pooling(
    self: torch.Tensor, rois: torch.Tensor, spatial_scale: float, group_size: int, output_dim: int
) -> torch.Tensor:
    return ps_roi_pool(self, rois, spatial_scale, group_size, output_dim)


@operator("npu_ps_roi_pooling_backward", source=DERIVATIVES)
def npu_ps_roi_pooling_backward(
    output_grad: torch.Tensor,
    rois: torch.Tensor,
    spatial_scale: float,
    group_size: int,
    output_dim: int,
    input_size: list[int],
) -> torch.Tensor:
    zeros = output_grad.new_zeros((rois.shape[0], group_size * group_size * output_dim, *input_size))
    if is_abstract(output_grad, rois):
        return zeros
    found = vector_jacobian(
        lambda x: ps_roi_pool(x, rois, spatial_scale, group_size, output_dim), [zeros], [output_grad]
    )
    return found[0]
