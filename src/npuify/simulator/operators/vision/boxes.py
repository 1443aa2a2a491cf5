"""Boxes: overlap measures and the encoding of offsets."""

from __future__ import annotations

import math
from typing import Any

import torch

from npuify.simulator.operators.autograd import vector_jacobian
from npuify.simulator.operators.checks import require, working
from npuify.simulator.operators.table import DERIVATIVES, DOCUMENTS, operator

_BETA = f"{DOCUMENTS}（beta）torch_npu-"
_TESTS = "Ascend/op-plugin@517f2e7d test/test_base_ops/"
_EPS = 1e-9


def pairwise(boxes: torch.Tensor, others: torch.Tensor, mode: int, point: bool, name: str) -> torch.Tensor:
    """Overlap of each of ``others`` (M) with each of ``boxes`` (N), as (M, N); corners ``x1, y1, x2, y2``.

    Args:
        mode: 0: over the union; 1: over the area of ``others``.
        point: without the 0.001 that ``npu_iou`` adds to the overlap.
    """
    require(boxes.dim() == 2 and boxes.shape[1] == 4, name, f"boxes are (N, 4), not {tuple(boxes.shape)}")
    require(others.dim() == 2 and others.shape[1] == 4, name, f"boxes are (M, 4), not {tuple(others.shape)}")
    require(mode in (0, 1), name, f"mode is 0 or 1, not {mode}")
    kind = working(boxes)
    one, two = boxes.to(kind).unsqueeze(0), others.to(kind).unsqueeze(1)
    low = torch.maximum(one[..., :2], two[..., :2])
    high = torch.minimum(one[..., 2:], two[..., 2:])
    overlap = (high - low).clamp(min=0).prod(-1)
    area_one = (one[..., 2:] - one[..., :2]).prod(-1)
    area_two = (two[..., 2:] - two[..., :2]).prod(-1)
    whole = area_one + area_two - overlap if mode == 0 else area_two.expand_as(overlap)
    return ((overlap + (0.0 if point else 0.001)) / (whole + 0.001)).to(boxes.dtype)


@operator("npu_iou", source=f"{_BETA}npu_iou.md; torch_npu/contrib/function/iou.py")
def npu_iou(bboxes: torch.Tensor, gtboxes: torch.Tensor, mode: int = 0) -> torch.Tensor:
    return pairwise(bboxes, gtboxes, mode, False, "npu_iou")


@operator("npu_ptiou", source=f"{_BETA}npu_ptiou.md; torch_npu/contrib/function/iou.py")
def npu_ptiou(bboxes: torch.Tensor, gtboxes: torch.Tensor, mode: int = 0) -> torch.Tensor:
    return pairwise(bboxes, gtboxes, mode, True, "npu_ptiou")


def _corners(boxes: torch.Tensor, centred: bool) -> tuple[torch.Tensor, ...]:
    first, second, third, fourth = boxes.unbind(0)
    if not centred:
        return first, second, third, fourth
    return first - third / 2, second - fourth / 2, first + third / 2, second + fourth / 2


def measure(
    kind: str, boxes: torch.Tensor, others: torch.Tensor, centred: bool, cross: bool, mode: int, name: str
) -> torch.Tensor:
    """GIoU, DIoU or CIoU of boxes (4, N), one by one as (1, N), or crossed as (M, N)."""
    require(boxes.dim() == 2 and boxes.shape[0] == 4, name, f"boxes are (4, N), not {tuple(boxes.shape)}")
    require(others.dim() == 2 and others.shape[0] == 4, name, f"boxes are (4, M), not {tuple(others.shape)}")
    require(cross or boxes.shape == others.shape, name, "boxes differ in number; that needs is_cross")
    wide = working(boxes)
    one, two = boxes.to(wide).unsqueeze(1), others.to(wide).unsqueeze(1)
    if cross:
        two = two.transpose(1, 2)
    ax1, ay1, ax2, ay2 = _corners(one, centred)
    bx1, by1, bx2, by2 = _corners(two, centred)
    overlap = (torch.minimum(ax2, bx2) - torch.maximum(ax1, bx1)).clamp(min=0) * (
        torch.minimum(ay2, by2) - torch.maximum(ay1, by1)
    ).clamp(min=0)
    aw, ah, bw, bh = ax2 - ax1, ay2 - ay1, bx2 - bx1, by2 - by1
    union = aw * ah + bw * bh - overlap + _EPS
    iou = overlap / (union if mode == 0 else bw * bh + _EPS)
    cw = torch.maximum(ax2, bx2) - torch.minimum(ax1, bx1)
    ch = torch.maximum(ay2, by2) - torch.minimum(ay1, by1)
    if kind == "giou":
        hull = cw * ch
        return (iou - (hull - union) / hull).to(boxes.dtype)
    distance = ((bx1 + bx2 - ax1 - ax2) ** 2 + (by1 + by2 - ay1 - ay2) ** 2) / 4
    value = iou - distance / (cw**2 + ch**2 + _EPS)
    if kind == "ciou":
        ratio = 4 / math.pi**2 * (torch.atan(bw / (bh + _EPS)) - torch.atan(aw / (ah + _EPS))) ** 2
        # The weight is a constant for the gradient, as its authors (Zheng et al., 2020) have it.
        weight = (ratio / (1 + _EPS - iou + ratio)).detach()
        value = value - ratio * weight
    return value.to(boxes.dtype)


def _only_plain(name: str, trans: bool, is_cross: bool, mode: int) -> None:
    require(
        trans and not is_cross and mode == 0,
        name,
        "gradients only with trans=True, is_cross=False and mode=0",
    )


@operator(
    "npu_giou",
    source=f"{_TESTS}test_npu_giou.py",
    gradients=("self", "gtboxes"),
    formula=lambda a, r, g: torch.ops.npu.npu_giou_backward(g[0], a.self, a.gtboxes, a.trans, a.is_cross, a.mode),
)
def npu_giou(
    self: torch.Tensor, gtboxes: torch.Tensor, trans: bool = False, is_cross: bool = False, mode: int = 0
) -> torch.Tensor:
    _only_plain("npu_giou", trans, is_cross, mode)
    return measure("giou", self, gtboxes, trans, is_cross, mode, "npu_giou").permute(1, 0).contiguous()


@operator("npu_giou_backward", source=DERIVATIVES)
def npu_giou_backward(
    grad: torch.Tensor,
    bboxes: torch.Tensor,
    gtboxes: torch.Tensor,
    trans: bool = False,
    is_cross: bool = False,
    mode: int = 0,
) -> tuple[torch.Tensor, ...]:
    _only_plain("npu_giou_backward", trans, is_cross, mode)
    return vector_jacobian(
        lambda one, two: measure("giou", one, two, True, False, 0, "npu_giou").permute(1, 0), [bboxes, gtboxes], [grad]
    )


@operator(
    "npu_diou",
    source=f"{_TESTS}test_npu_diou.py",
    gradients=("self", "gtboxes"),
    formula=lambda a, r, g: torch.ops.npu.npu_diou_backward(g[0], a.self, a.gtboxes, a.trans, a.is_cross, a.mode),
)
def npu_diou(
    self: torch.Tensor, gtboxes: torch.Tensor, trans: bool = False, is_cross: bool = False, mode: int = 0
) -> torch.Tensor:
    return measure("diou", self, gtboxes, trans, is_cross, mode, "npu_diou")


@operator("npu_diou_backward", source=DERIVATIVES)
def npu_diou_backward(
    grad: torch.Tensor,
    bboxes: torch.Tensor,
    gtboxes: torch.Tensor,
    trans: bool = False,
    is_cross: bool = False,
    mode: int = 0,
) -> tuple[torch.Tensor, ...]:
    _only_plain("npu_diou_backward", trans, is_cross, mode)
    return vector_jacobian(
        lambda one, two: measure("diou", one, two, True, False, 0, "npu_diou"), [bboxes, gtboxes], [grad]
    )


def _ciou_backward(a: Any, r: tuple[torch.Tensor, ...], g: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    found: tuple[torch.Tensor, ...] = torch.ops.npu.npu_ciou_backward(
        g[0],
        a.self,
        a.gtboxes,
        r[1] if len(r) > 1 else None,
        a.trans,
        a.is_cross,
        a.mode,
    )
    return found


@operator("npu_ciou", source=f"{_TESTS}test_ciou.py", gradients=("self", "gtboxes"), formula=_ciou_backward)
def npu_ciou(
    self: torch.Tensor,
    gtboxes: torch.Tensor,
    trans: bool = False,
    is_cross: bool = True,
    mode: int = 0,
    atan_sub_flag: bool = False,
) -> torch.Tensor:
    return measure("ciou", self, gtboxes, trans, is_cross, mode, "npu_ciou")


@operator("_npu_ciou", source=f"{_TESTS}test_ciou.py", gradients=("self", "gtboxes"), formula=_ciou_backward)
def _npu_ciou(
    self: torch.Tensor,
    gtboxes: torch.Tensor,
    trans: bool = False,
    is_cross: bool = True,
    mode: int = 0,
    atan_sub_flag: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    value = measure("ciou", self, gtboxes, trans, is_cross, mode, "_npu_ciou")
    return value, torch.zeros_like(value)


@operator("npu_ciou_backward", source=DERIVATIVES)
def npu_ciou_backward(
    grad: torch.Tensor,
    bboxes: torch.Tensor,
    gtboxes: torch.Tensor,
    atan_sub: torch.Tensor | None,
    trans: bool = False,
    is_cross: bool = True,
    mode: int = 0,
) -> tuple[torch.Tensor, ...]:
    _only_plain("npu_ciou_backward", trans, is_cross, mode)
    return vector_jacobian(
        lambda one, two: measure("ciou", one, two, True, False, 0, "npu_ciou"), [bboxes, gtboxes], [grad]
    )


def _centres(boxes: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Centres and sizes of boxes whose corners belong to them (a box of one pixel has the size 1)."""
    x1, y1, x2, y2 = boxes.unbind(-1)
    return (x1 + x2) * 0.5, (y1 + y2) * 0.5, x2 - x1 + 1.0, y2 - y1 + 1.0


@operator("npu_bounding_box_encode", source=f"{_BETA}npu_bounding_box_encode.md")
def npu_bounding_box_encode(
    anchor_box: torch.Tensor,
    ground_truth_box: torch.Tensor,
    means0: float,
    means1: float,
    means2: float,
    means3: float,
    stds0: float,
    stds1: float,
    stds2: float,
    stds3: float,
) -> torch.Tensor:
    require(anchor_box.shape == ground_truth_box.shape, "npu_bounding_box_encode", "boxes differ in shape")
    px, py, pw, ph = _centres(anchor_box)
    gx, gy, gw, gh = _centres(ground_truth_box)
    deltas = torch.stack([(gx - px) / pw, (gy - py) / ph, torch.log(gw / pw), torch.log(gh / ph)], dim=-1)
    means = deltas.new_tensor([means0, means1, means2, means3])
    return (deltas - means) / deltas.new_tensor([stds0, stds1, stds2, stds3])


@operator("npu_bounding_box_decode", source=f"{_BETA}npu_bounding_box_decode.md")
def npu_bounding_box_decode(
    rois: torch.Tensor,
    deltas: torch.Tensor,
    means0: float,
    means1: float,
    means2: float,
    means3: float,
    stds0: float,
    stds1: float,
    stds2: float,
    stds3: float,
    max_shape: list[int],
    wh_ratio_clip: float,
) -> torch.Tensor:
    require(rois.shape == deltas.shape, "npu_bounding_box_decode", "rois and deltas differ in shape")
    means = deltas.new_tensor([means0, means1, means2, means3])
    dx, dy, dw, dh = (deltas * deltas.new_tensor([stds0, stds1, stds2, stds3]) + means).unbind(-1)
    limit = abs(math.log(wh_ratio_clip))
    px, py, pw, ph = _centres(rois)
    gx, gy = px + pw * dx, py + ph * dy
    gw, gh = pw * dw.clamp(-limit, limit).exp(), ph * dh.clamp(-limit, limit).exp()
    height, width = (max_shape[0], max_shape[-1])
    return torch.stack(
        [
            (gx - gw * 0.5 + 0.5).clamp(0, width - 1),
            (gy - gh * 0.5 + 0.5).clamp(0, height - 1),
            (gx + gw * 0.5 - 0.5).clamp(0, width - 1),
            (gy + gh * 0.5 - 0.5).clamp(0, height - 1),
        ],
        dim=-1,
    )


@operator("npu_yolo_boxes_encode", source=f"{_BETA}npu_yolo_boxes_encode.md; {_TESTS}test_yolo_boxes_encode.py")
def npu_yolo_boxes_encode(
    self: torch.Tensor, gt_bboxes: torch.Tensor, stride: torch.Tensor, performance_mode: bool = False
) -> torch.Tensor:
    name = "npu_yolo_boxes_encode"
    require(self.shape == gt_bboxes.shape, name, "boxes differ in shape")
    require(stride.dtype is torch.int32, name, f"stride is int32, not {stride.dtype}")

    def parts(boxes: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x1, y1, x2, y2 = boxes.unbind(-1)
        return (x1 + x2) * 0.5, (y1 + y2) * 0.5, x2 - x1, y2 - y1

    px, py, pw, ph = parts(self)
    gx, gy, gw, gh = parts(gt_bboxes)
    step = stride.to(self.dtype)
    eps = 1e-6
    return torch.stack(
        [
            ((gx - px) / step + 0.5).clamp(eps, 1 - eps),
            ((gy - py) / step + 0.5).clamp(eps, 1 - eps),
            torch.log((gw / pw).clamp(min=eps)),
            torch.log((gh / ph).clamp(min=eps)),
        ],
        dim=-1,
    )


@operator("npu_anchor_response_flags", source=f"{_BETA}npu_anchor_response_flags.md")
def npu_anchor_response_flags(
    self: torch.Tensor, featmap_size: list[int], stride: list[int], num_base_anchors: int
) -> torch.Tensor:
    height, width = featmap_size
    x = torch.floor((self[:, 0] + self[:, 2]) * 0.5 / stride[0]).long().clamp(0, width - 1)
    y = torch.floor((self[:, 1] + self[:, 3]) * 0.5 / stride[1]).long().clamp(0, height - 1)
    hit = torch.zeros(height * width, dtype=torch.uint8, device=self.device)
    hit = hit.index_fill(0, y * width + x, 1)
    return hit.unsqueeze(1).expand(-1, num_base_anchors).reshape(-1)
