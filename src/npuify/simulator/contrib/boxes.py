"""Functions of ``torch_npu.contrib.function`` on boxes."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

_UNLIMITED = (9999, 9999)
"""Height and width that limit no box."""


def _deprecated(name: str, instead: str) -> None:
    warnings.warn(f"torch_npu.contrib's {name} is deprecated; use {instead}.", FutureWarning, stacklevel=3)


def _same_boxes(bboxes: torch.Tensor, others: torch.Tensor) -> None:
    if bboxes.size(0) != others.size(0):
        raise ValueError(f"as many boxes of each kind are expected, got {bboxes.size(0)} and {others.size(0)}")
    if not bboxes.size(-1) == others.size(-1) == 4:
        raise ValueError("boxes with four numbers are expected")


def npu_iou(
    boxes1: torch.Tensor,
    boxes2: torch.Tensor,
    mode: str = "ptiou",
    is_normalized: bool = False,
    normalized_scale: float = 100.0,
) -> torch.Tensor:
    """Overlap of each of N boxes with each of M, [N, M] by way of the operator's [M, N] of ``boxes2``.

    Raises:
        ValueError: ``mode`` is neither ``iou`` nor ``ptiou``.
    """
    _deprecated("npu_iou", "torch_npu.npu_iou or torch_npu.npu_ptiou")
    if mode not in ("iou", "ptiou"):
        raise ValueError("Expected mode in [iou, ptiou]")
    scale = normalized_scale if is_normalized else 1.0
    first, second = boxes1.float() * scale, boxes2.float() * scale
    overlap = torch.ops.npu.npu_iou if mode == "iou" else torch.ops.npu.npu_ptiou
    found: torch.Tensor = overlap(second, first)
    return found


npu_ptiou = npu_iou


def npu_giou(boxes1: torch.Tensor, boxes2: torch.Tensor, is_permuted: bool = True) -> torch.Tensor:
    """Generalised overlap of each box with its partner. Boxes [n, 4] as centre, width, height; with
    ``is_permuted=False`` [4, n].

    Raises:
        ValueError: the shapes differ.
    """
    _deprecated("npu_giou", "torch_npu.npu_giou")
    if boxes1.shape != boxes2.shape:
        raise ValueError("Expected boxes1.shape == boxes2.shape")
    first, second = boxes1.float(), boxes2.float()
    if is_permuted:
        first, second = first.permute(1, 0), second.permute(1, 0)
    found: torch.Tensor = torch.ops.npu.npu_giou(first, second, trans=True, is_cross=False)
    return found


def npu_diou(
    boxes1: torch.Tensor, boxes2: torch.Tensor, trans: bool = True, is_cross: bool = False, mode: int = 0
) -> torch.Tensor:
    """Distance overlap of boxes [4, n]."""
    _deprecated("npu_diou", "torch_npu.npu_diou")
    found: torch.Tensor = torch.ops.npu.npu_diou(boxes1, boxes2, trans, is_cross, mode)
    return found


def npu_ciou(
    boxes1: torch.Tensor, boxes2: torch.Tensor, trans: bool = True, is_cross: bool = False, mode: int = 0
) -> torch.Tensor:
    """Complete overlap of boxes [4, n]."""
    _deprecated("npu_ciou", "torch_npu.npu_ciou")
    found: torch.Tensor = torch.ops.npu.npu_ciou(boxes1, boxes2, trans, is_cross, mode, True)
    return found


def npu_single_level_responsible_flags(
    featmap_size: Sequence[int], gt_bboxes: torch.Tensor, stride: Sequence[int], num_base_anchors: int
) -> torch.Tensor:
    """Which anchors of one level of features have a true box's centre in their cell."""
    found: torch.Tensor = torch.ops.npu.npu_anchor_response_flags(
        gt_bboxes.float(), featmap_size, stride, num_base_anchors
    )
    return found


def npu_bbox_coder_encode_yolo(bboxes: torch.Tensor, gt_bboxes: torch.Tensor, stride: torch.Tensor) -> torch.Tensor:
    """Regression targets of YOLO: from anchors [n, 4] to true boxes [n, 4], with a stride for each anchor.

    Raises:
        ValueError: the numbers of boxes differ, or a box has not four numbers.
    """
    _same_boxes(bboxes, gt_bboxes)
    found: torch.Tensor = torch.ops.npu.npu_yolo_boxes_encode(bboxes.float(), gt_bboxes.float(), stride.int(), False)
    return found


def npu_bbox_coder_encode_xyxy2xywh(
    bboxes: torch.Tensor,
    gt_bboxes: torch.Tensor,
    means: Sequence[float] | None = None,
    stds: Sequence[float] | None = None,
    is_normalized: bool = False,
    normalized_scale: float = 10000.0,
) -> torch.Tensor:
    """Regression targets of Faster R-CNN from boxes [n, 4] to true boxes [n, 4], both as corners.

    Raises:
        ValueError: the numbers of boxes differ, or a box has not four numbers.
    """
    _same_boxes(bboxes, gt_bboxes)
    scale = normalized_scale if is_normalized else 1.0
    found: torch.Tensor = torch.ops.npu.npu_bounding_box_encode(
        bboxes.float() * scale, gt_bboxes.float() * scale, *(means or (0.0,) * 4), *(stds or (1.0,) * 4)
    )
    return found


def npu_bbox_coder_decode_xywh2xyxy(
    bboxes: torch.Tensor,
    pred_bboxes: torch.Tensor,
    means: Sequence[float] | None = None,
    stds: Sequence[float] | None = None,
    max_shape: Sequence[int] | None = None,
    wh_ratio_clip: float = 16 / 1000,
) -> torch.Tensor:
    """Boxes [n, 4] as corners from boxes and their regression, within height and width ``max_shape``.

    Raises:
        ValueError: the numbers of boxes differ, or a box has not four numbers.
    """
    _same_boxes(bboxes, pred_bboxes)
    found: torch.Tensor = torch.ops.npu.npu_bounding_box_decode(
        bboxes.float(),
        pred_bboxes.float(),
        *(means or (0.0,) * 4),
        *(stds or (1.0,) * 4),
        list(max_shape or _UNLIMITED),
        wh_ratio_clip,
    )
    return found


def npu_batched_multiclass_nms(
    multi_bboxes: torch.Tensor,
    multi_scores: torch.Tensor,
    score_thr: float = 0.05,
    nms_thr: float = 0.45,
    max_num: int = 50,
    score_factors: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Suppression class by class for a batch.

    Args:
        multi_bboxes: [batch, n, 4], or [batch, n, classes, 4].
        multi_scores: [batch, n, classes + 1]; the last class is the background and is left out.
        score_factors: [batch, n], multiplied to the scores.

    Returns:
        boxes with their scores, float16 [batch, max_num, 5], and classes, [batch, max_num]; zeros fill both up.
    """
    scores = multi_scores[..., :-1]
    if score_factors is not None:
        scores = scores * score_factors[..., None]
    batch, number, _ = scores.shape
    boxes = multi_bboxes.reshape(batch, number, -1, 4)
    kept, their_scores, classes, _ = torch.ops.npu.npu_batch_nms(
        boxes.half(), scores.half(), score_thr, nms_thr, max_num, max_num
    )
    return torch.cat([kept, their_scores[..., None]], dim=-1), classes


def npu_multiclass_nms(
    multi_bboxes: torch.Tensor,
    multi_scores: torch.Tensor,
    score_thr: float = 0.05,
    nms_thr: float = 0.45,
    max_num: int = 50,
    score_factors: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """:func:`npu_batched_multiclass_nms` for one image: everything without the first dimension."""
    factors = None if score_factors is None else score_factors[None]
    boxes, classes = npu_batched_multiclass_nms(
        multi_bboxes[None], multi_scores[None], score_thr, nms_thr, max_num, factors
    )
    return boxes[0], classes[0]
