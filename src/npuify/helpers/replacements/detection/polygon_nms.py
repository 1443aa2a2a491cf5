# mypy: ignore-errors
"""Overlaps and suppression of quadrilaterals (x1, y1, …, x4, y4, score), also of those that are not convex.

The area that two have in common is the sum over their triangles with one corner at the same point: of each pair of
triangles the parts of the outer edges inside the other one are enough. All pairs at once, in slices of at most 2**16,
with 16 triangles each; suppression holds the overlaps of all pairs, and asks the device once for each link of a chain.
There is no gradient, as in the kernels. Areas differ in the last digits: the kernel takes the corner of the image for
the common point, which costs it digits.
"""

import torch

_PAIRS = 2**16
_NOTHING = 1e-8


def _cross(a, b):
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _area(corners):
    """Below 0 where they turn to the right."""
    return _cross(corners, corners.roll(-1, -2)).sum(-1) / 2


def _inside(begin, end, *sides):
    """The share of an edge on which linear functions, given by their values at its ends, are all not below 0."""
    low, high = torch.zeros_like(begin), torch.ones_like(begin)
    for first, last in sides:
        way = last - first
        moves = way.abs() > 0
        at = -first / torch.where(moves, way, torch.ones_like(way))
        low = torch.where(way > 0, torch.maximum(low, at), low)
        high = torch.where(way < 0, torch.minimum(high, at), high)
        high = torch.where(~moves & (first < 0), torch.full_like(high, -1.0), high)
    return (high - low).clamp(min=0)


def _common(a, b, c, d):
    """The area that the triangles (0, a, b) and (0, c, d) have in common, below 0 where they turn different ways."""
    turn1, turn2 = _cross(a, b), _cross(c, d)
    left1, left2 = (turn1 < 0)[..., None], (turn2 < 0)[..., None]
    a, b = torch.where(left1, b, a), torch.where(left1, a, b)
    c, d = torch.where(left2, d, c), torch.where(left2, c, d)
    edge1, edge2 = b - a, d - c
    a_out, b_out = _cross(edge2, a - c), _cross(edge2, b - c)
    c_out, d_out = _cross(edge1, c - a), _cross(edge1, d - a)
    one = _inside(a_out, b_out, (a_out, b_out), (_cross(c, a), _cross(c, b)), (_cross(a, d), _cross(b, d)))
    two = _inside(c_out, d_out, (c_out, d_out), (_cross(a, c), _cross(a, d)), (_cross(c, b), _cross(d, b)))
    # Where both lie on one line, it counts once.
    two = torch.where((c_out == 0) & (d_out == 0), torch.zeros_like(two), two)
    area = (one * turn1.abs() + two * turn2.abs()) / 2
    there = (turn1.abs() > _NOTHING) & (turn2.abs() > _NOTHING)
    return torch.where(there, area * turn1.sign() * turn2.sign(), torch.zeros_like(area))


def _shares(one, two):
    """The share of intersection in union of pairs of (pairs, 4, 2)."""
    middle = one[:, :1]
    one, two = one - middle, two - middle
    size1, size2 = _area(one), _area(two)
    a, c = one[:, :, None], two[:, None]
    b, d = one.roll(-1, 1)[:, :, None], two.roll(-1, 1)[:, None]
    a, b, c, d = torch.broadcast_tensors(a, b, c, d)
    common = _common(a, b, c, d).sum((1, 2))
    # The kernel turns both the same way round before.
    common = torch.where((size1 < 0) != (size2 < 0), -common, common)
    both = size1.abs() + size2.abs() - common
    nothing = both == 0
    return torch.where(nothing, common + 1, common) / torch.where(nothing, torch.ones_like(both), both)


def _kept(boxes, threshold):
    """Places of what stays, the best first."""
    order = boxes[:, 8].sort(dim=0, descending=True).indices
    corners = boxes[order, :8].reshape(-1, 4, 2)
    number = len(corners)
    found = []
    for part in torch.arange(number, device=boxes.device).split(max(1, _PAIRS // number)):
        one, two = corners[part].repeat_interleave(number, 0), corners.repeat(len(part), 1, 1)
        found.append((_shares(one, two) > threshold).reshape(len(part), number))
    before = torch.cat(found).t().tril(-1).float()
    stays = torch.ones(number, device=boxes.device)
    while True:
        now = (before @ stays == 0).float()
        if torch.equal(now, stays):
            return order[stays > 0]
        stays = now


def poly_nms(dets, threshold):
    """The places of the quadrilaterals that stay, in rising order."""
    if dets.numel() == 0:
        return torch.empty(0, dtype=torch.long)
    return _kept(dets, threshold).sort(0).values


def nms_poly(dets, iou_threshold):
    """The places of the quadrilaterals that stay, the best first."""
    return _kept(dets, iou_threshold) if dets.numel() else torch.empty(0, dtype=torch.long)
