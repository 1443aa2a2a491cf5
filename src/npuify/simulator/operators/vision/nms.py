"""Suppression of overlapping boxes. Shapes of results depend on values: fake tensors take all boxes as kept."""

from __future__ import annotations

import torch

from npuify.simulator.operators.checks import is_abstract, require
from npuify.simulator.operators.table import DOCUMENTS, operator

_BETA = f"{DOCUMENTS}（beta）torch_npu-"


def greedy(overlaps: torch.Tensor, order: torch.Tensor, threshold: float, limit: int) -> torch.Tensor:
    """Indices kept, best first: of each set of boxes that overlap by more than ``threshold`` the first in ``order``.

    Args:
        overlaps: (N, N).
        order: indices of the boxes, best first.
        limit: at most so many; negative: no limit.
    """
    table = overlaps.cpu()
    kept: list[int] = []
    for index in order.tolist():
        if 0 <= limit <= len(kept):
            break
        if not kept or float(table[index, kept].max()) <= threshold:
            kept.append(index)
    return torch.tensor(kept, dtype=torch.int64, device=overlaps.device)


def iou_matrix(boxes: torch.Tensor) -> torch.Tensor:
    low = torch.maximum(boxes[:, None, :2], boxes[None, :, :2])
    high = torch.minimum(boxes[:, None, 2:4], boxes[None, :, 2:4])
    overlap = (high - low).clamp(min=0).prod(-1)
    area = (boxes[:, 2:4] - boxes[:, :2]).prod(-1)
    union = area[:, None] + area[None, :] - overlap
    return torch.where(union > 0, overlap / union, torch.zeros_like(union))


@operator("npu_nms_v4", source=f"{_BETA}npu_nms_v4.md")
def npu_nms_v4(
    self: torch.Tensor,
    scores: torch.Tensor,
    max_output_size: int,
    iou_threshold: torch.Tensor,
    scores_threshold: torch.Tensor,
    pad_to_max_output_size: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    name = "npu_nms_v4"
    require(self.dim() == 2 and self.shape[1] == 4, name, f"boxes are (N, 4), not {tuple(self.shape)}")
    require(scores.shape == self.shape[:1], name, f"scores are (N,), not {tuple(scores.shape)}")
    limit = int(max_output_size)
    if is_abstract(self, scores):
        length = limit if pad_to_max_output_size else min(limit, self.shape[0])
        return self.new_empty([length], dtype=torch.int32), self.new_empty([], dtype=torch.int32)
    order = scores.argsort(descending=True, stable=True)
    order = order[scores[order] > scores_threshold.to(scores.dtype)]
    corners = torch.cat([torch.minimum(self[:, :2], self[:, 2:]), torch.maximum(self[:, :2], self[:, 2:])], dim=1)
    kept = greedy(iou_matrix(corners.float()), order, float(iou_threshold), limit)
    count = torch.tensor(len(kept), dtype=torch.int32, device=self.device)
    if pad_to_max_output_size:
        kept = torch.nn.functional.pad(kept, [0, limit - len(kept)])
    return kept.to(torch.int32), count


@operator("npu_nms_with_mask", source=f"{_BETA}npu_nms_with_mask.md")
def npu_nms_with_mask(input: torch.Tensor, iou_threshold: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    name = "npu_nms_with_mask"
    require(input.dim() == 2 and input.shape[1] == 8, name, f"the input is (N, 8), not {tuple(input.shape)}")
    count = input.shape[0]
    indices = torch.arange(count, dtype=torch.int32, device=input.device)
    if is_abstract(input):
        return input[:, :5].clone(), indices, torch.empty_like(indices, dtype=torch.uint8)
    kept = greedy(iou_matrix(input[:, :4].float()), torch.arange(count), float(iou_threshold), -1)
    mask = torch.zeros(count, dtype=torch.uint8, device=input.device).index_fill(0, kept, 1)
    return input[:, :5].clone(), indices, mask


@operator("npu_batch_nms", source=f"{_BETA}npu_batch_nms.md")
def npu_batch_nms(
    self: torch.Tensor,
    scores: torch.Tensor,
    score_threshold: float,
    iou_threshold: float,
    max_size_per_class: int,
    max_total_size: int,
    change_coordinate_frame: bool = False,
    transpose_box: bool = False,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    name = "npu_batch_nms"
    require(not change_coordinate_frame, name, "change_coordinate_frame is not supported")
    require(self.dim() == 4 and scores.dim() == 3, name, "boxes are (B, N, q, 4), scores (B, N, C)")
    boxes = self.permute(0, 3, 1, 2).transpose(1, 2) if transpose_box and self.shape[-1] != 4 else self
    batch = scores.shape[0]
    found = self.new_zeros((batch, max_total_size, 4))
    values = scores.new_zeros((batch, max_total_size))
    classes = scores.new_zeros((batch, max_total_size))
    counts = torch.zeros(batch, dtype=torch.int32, device=self.device)
    if is_abstract(self, scores):
        return found, values, classes, counts
    for image in range(batch):
        candidates: list[tuple[float, int, int]] = []
        for label in range(scores.shape[2]):
            own = boxes[image, :, min(label, boxes.shape[2] - 1)].float()
            rank = scores[image, :, label]
            order = rank.argsort(descending=True, stable=True)
            order = order[rank[order] > score_threshold]
            kept = greedy(iou_matrix(own), order, iou_threshold, max_size_per_class)
            candidates += [(float(rank[index]), label, index) for index in kept.tolist()]
        candidates.sort(key=lambda entry: -entry[0])
        for place, (_, label, index) in enumerate(candidates[:max_total_size]):
            found[image, place] = boxes[image, index, min(label, boxes.shape[2] - 1)]
            values[image, place] = scores[image, index, label]
            classes[image, place] = label
        counts[image] = min(len(candidates), max_total_size)
    return found, values, classes, counts
