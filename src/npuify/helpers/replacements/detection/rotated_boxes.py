# mypy: ignore-errors
"""Overlaps and suppression of turned boxes (x, y, width, height, angle), as detectron2 and those after it have them.

float32 and float64. Crossings and corners inside are found for all pairs at once, 24 candidates for each pair, in
slices of at most 2**18 pairs; suppression holds the overlaps of all pairs, and asks the device once for each link of a
chain of boxes that suppress each other. There is no gradient, as in the kernels. Areas differ in the last digits.
"""

import math

import torch

_PAIRS = 2**18
_NEAR = 1e-5
_DEGREE = 0.01745329251


def box_iou_rotated(boxes1, boxes2):
    """The share of intersection in union of each of (n, 5) with each of (m, 5): (n, m). Angles are in degrees."""
    return _all_shares(boxes1, boxes2, _DEGREE)


def _all_shares(boxes1, boxes2, unit):
    n, m = len(boxes1), len(boxes2)
    found = []
    for part in torch.arange(n, device=boxes1.device).split(max(1, _PAIRS // max(1, m))):
        one, two = boxes1[part].repeat_interleave(m, 0), boxes2.repeat(len(part), 1)
        found.append(_shares(one, two, unit).reshape(len(part), m))
    return torch.cat(found) if found else boxes1.new_zeros(n, m)


def nms_rotated(dets, scores, iou_threshold):
    """The places of the boxes that stay, the best first. Angles are in degrees."""
    return _kept(dets, scores, iou_threshold, _DEGREE)


def nms_rotated_radians(dets, scores, iou_threshold):
    """``nms_rotated`` for kernels that take the angle in radians."""
    return _kept(dets, scores, iou_threshold, 1.0)


def box_iou_rotated_back(boxes1, boxes2):
    """``box_iou_rotated`` for kernels (S2ANet's) that take the angle in radians, and turn the other way."""
    return _all_shares(boxes1, boxes2, -1.0)


def nms_rotated_back(dets, scores, iou_threshold):
    """``nms_rotated`` for those."""
    return _kept(dets, scores, iou_threshold, -1.0)


def ml_nms_rotated(dets, scores, labels, iou_threshold):
    """The same, where only boxes with equal labels suppress each other."""
    return _kept(dets, scores, iou_threshold, -1.0, labels)


def _kept(dets, scores, iou_threshold, unit, labels=None):
    if not len(dets):
        return torch.empty(0, dtype=torch.long, device=dets.device)
    order = scores.sort(dim=0, descending=True, stable=True).indices
    boxes = dets[order]
    suppresses = _all_shares(boxes, boxes, unit) > iou_threshold
    if labels is not None:
        suppresses = suppresses & (labels[order][:, None] == labels[order])
    before = suppresses.t().tril(-1).float()
    stays = torch.ones(len(boxes), device=dets.device)
    while True:
        now = (before @ stays == 0).float()
        if torch.equal(now, stays):
            return order[stays > 0]
        stays = now


def _cross(a, b):
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _corners(boxes, middle, unit):
    """The corners of boxes in order, seen from ``middle``."""
    turn = boxes[:, 4] * unit
    cosine, sine = torch.cos(turn)[:, None] * 0.5, torch.sin(turn)[:, None] * 0.5
    wide, high = boxes[:, 2:3], boxes[:, 3:4]
    x = torch.cat([sine * high + cosine * wide, -sine * high + cosine * wide], 1)
    y = torch.cat([cosine * high - sine * wide, -cosine * high - sine * wide], 1)
    around = torch.stack([torch.cat([x, -x], 1), torch.cat([y, -y], 1)], -1)
    return around + (boxes[:, :2] - middle)[:, None]


def _inside(points, corners):
    """Whether (pairs, 4) points lie in the box with these corners, or on its edge."""
    side, other = corners[:, 1] - corners[:, 0], corners[:, 3] - corners[:, 0]
    apart = points - corners[:, :1]
    along, across = (apart * side[:, None]).sum(-1), (apart * other[:, None]).sum(-1)
    low = (along > -_NEAR) & (across > -_NEAR)
    return low & (along < (side * side).sum(-1)[:, None] + _NEAR) & (across < (other * other).sum(-1)[:, None] + _NEAR)


def _shares(one, two, unit):
    middle = (one[:, :2] + two[:, :2]) / 2
    first, second = _corners(one, middle, unit), _corners(two, middle, unit)
    way1, way2 = first.roll(-1, 1) - first, second.roll(-1, 1) - second
    p, q, v, w = first[:, :, None], second[:, None], way1[:, :, None], way2[:, None]
    crossing = _cross(w, v)
    crosses = crossing.abs() > 1e-14
    below = torch.where(crosses, crossing, torch.ones_like(crossing))
    t1, t2 = _cross(w, q - p) / below, _cross(v, q - p) / below
    crosses = crosses & (t1 > -_NEAR) & (t1 < 1 + _NEAR) & (t2 > -_NEAR) & (t2 < 1 + _NEAR)
    points = torch.cat([(p + v * t1[..., None]).flatten(1, 2), first, second], 1)
    there = torch.cat([crosses.flatten(1, 2), _inside(first, second), _inside(second, first)], 1)
    number = there.sum(1)
    points = torch.where(there[..., None], points, torch.zeros_like(points))
    apart = points - (points.sum(1) / number.clamp(min=1)[:, None])[:, None]
    angle = torch.atan2(apart[..., 1], apart[..., 0])
    order = torch.where(there, angle, torch.full_like(angle, 2 * math.pi)).argsort(dim=1, stable=True)
    around = apart.gather(1, order[..., None].expand(-1, -1, 2))
    known = there.gather(1, order)[..., None]
    around = torch.where(known, around - around[:, :1], torch.zeros_like(around))
    common = _cross(around[:, :-1], around[:, 1:]).sum(1).abs() / 2
    size1, size2 = one[:, 2] * one[:, 3], two[:, 2] * two[:, 3]
    is_box = (size1 >= 1e-14) & (size2 >= 1e-14) & (number > 2)
    both = torch.where(is_box, size1 + size2 - common, torch.ones_like(common))
    return torch.where(is_box, common / both, torch.zeros_like(common))
