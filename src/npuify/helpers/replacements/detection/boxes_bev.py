# mypy: ignore-errors
"""Overlaps and suppression of turned boxes seen from above, as PointRCNN and OpenPCDet have them.

float32. The corners of what two boxes share are found for all pairs at once: 24 candidates for each pair, in slices of
at most 2**18 pairs; suppression holds the overlaps of all pairs, and asks the device once for each link of a chain of
boxes that suppress each other. There is no gradient, as in the kernels. Areas differ in the last digits.
"""

import math

import torch

_PAIRS = 2**18
_LEAST = 1e-8


# --- boxes as x, y, z, three sizes and a heading ---


def boxes_overlap_bev(boxes_a, boxes_b, ans_overlap):
    """The area that each of (n, 7) shares with each of (m, 7), written into (n, m)."""
    ans_overlap.copy_(_all_pairs(_of_sizes(boxes_a), _of_sizes(boxes_b)).reshape(ans_overlap.shape))
    return 1


def boxes_aligned_overlap_bev(boxes_a, boxes_b, ans_overlap):
    """The area that each of (n, 7) shares with the one at its place in (n, 7)."""
    ans_overlap.copy_(_areas(*_of_sizes(boxes_a), *_of_sizes(boxes_b)).reshape(ans_overlap.shape))
    return 1


def boxes_iou_bev(boxes_a, boxes_b, ans_iou):
    """The share of intersection in union of each of (n, 7) with each of (m, 7), written into (n, m)."""
    ans_iou.copy_(_share(_all_pairs(_of_sizes(boxes_a), _of_sizes(boxes_b)), _size(boxes_a), _size(boxes_b)))
    return 1


def boxes_aligned_iou_bev(boxes_a, boxes_b, ans_iou):
    """The share of intersection in union of each of (n, 7) with the one at its place in (n, 7)."""
    common, both = _areas(*_of_sizes(boxes_a), *_of_sizes(boxes_b)), _size(boxes_a) + _size(boxes_b)
    ans_iou.copy_((common / (both - common).clamp(min=_LEAST)).reshape(ans_iou.shape))
    return 1


def nms(boxes, keep, nms_overlap_thresh):
    """The places of the boxes of (n, 7) that stay, the best first, are written into ``keep``. Returns how many."""
    corners = _of_sizes(boxes)
    share = _share(_all_pairs(corners, corners), _size(boxes), _size(boxes))
    return _keep(share > nms_overlap_thresh, keep)


def nms_normal(boxes, keep, nms_overlap_thresh):
    """``nms`` for boxes whose heading counts for nothing."""
    low, high = boxes[:, :2] - boxes[:, 3:5] / 2, boxes[:, :2] + boxes[:, 3:5] / 2
    sides = (torch.minimum(high[:, None], high) - torch.maximum(low[:, None], low)).clamp(min=0)
    share = _share(sides[..., 0] * sides[..., 1], _size(boxes), _size(boxes))
    return _keep(share > nms_overlap_thresh, keep)


def _size(boxes):
    return boxes[:, 3] * boxes[:, 4]


def _of_sizes(boxes):
    """The corners of (n, 7) in order, and whether a point is in a box, with a margin of 0.01."""
    half = boxes[:, 3:5] / 2
    return _turned(boxes[:, :2], half, boxes[:, 6], 1), boxes[:, :2], half, boxes[:, 6], 1, 1e-2


# --- boxes as two corners and an angle ---


def corner_boxes_overlap_bev(boxes_a, boxes_b, ans_overlap):
    """``boxes_overlap_bev`` for (n, 5): x1, y1, x2, y2 and an angle that turns the other way."""
    ans_overlap.copy_(_all_pairs(_of_corners(boxes_a), _of_corners(boxes_b)).reshape(ans_overlap.shape))
    return 1


def corner_boxes_iou_bev(boxes_a, boxes_b, ans_iou):
    sizes = [(one[:, 2] - one[:, 0]) * (one[:, 3] - one[:, 1]) for one in (boxes_a, boxes_b)]
    ans_iou.copy_(_share(_all_pairs(_of_corners(boxes_a), _of_corners(boxes_b)), *sizes))
    return 1


def corner_nms(boxes, keep, nms_overlap_thresh, device_id=0):
    corners, size = _of_corners(boxes), (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    return _keep(_share(_all_pairs(corners, corners), size, size) > nms_overlap_thresh, keep)


def corner_nms_normal(boxes, keep, nms_overlap_thresh, device_id=0):
    size = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    low, high = boxes[:, :2], boxes[:, 2:4]
    sides = (torch.minimum(high[:, None], high) - torch.maximum(low[:, None], low)).clamp(min=0)
    return _keep(_share(sides[..., 0] * sides[..., 1], size, size) > nms_overlap_thresh, keep)


def _of_corners(boxes):
    centre, half = (boxes[:, :2] + boxes[:, 2:4]) / 2, (boxes[:, 2:4] - boxes[:, :2]) / 2
    return _turned(centre, half, boxes[:, 4], -1), centre, half, boxes[:, 4], -1, 1e-5


# --- what they share ---


def _turned(centre, half, angle, way):
    """The corners of boxes, one after the other around them."""
    cosine, sine = torch.cos(angle)[:, None], torch.sin(angle)[:, None] * way
    x = torch.stack([-half[:, 0], half[:, 0], half[:, 0], -half[:, 0]], 1)
    y = torch.stack([-half[:, 1], -half[:, 1], half[:, 1], half[:, 1]], 1)
    return torch.stack([x * cosine - y * sine, x * sine + y * cosine], -1) + centre[:, None]


def _all_pairs(of_a, of_b):
    """The shared area of each box of one set with each of the other, in slices."""
    n, m = len(of_a[0]), len(of_b[0])
    found = []
    for part in torch.arange(n, device=of_a[0].device).split(max(1, _PAIRS // max(1, m))):
        repeated = [one[part].repeat_interleave(m, 0) if torch.is_tensor(one) else one for one in of_a]
        tiled = [one.repeat(len(part), *[1] * (one.dim() - 1)) if torch.is_tensor(one) else one for one in of_b]
        found.append(_areas(*repeated, *tiled).reshape(len(part), m))
    return torch.cat(found) if found else of_a[0].new_zeros(n, m)


def _share(common, size_a, size_b):
    return common / (size_a[:, None] + size_b - common).clamp(min=_LEAST)


def _cross(a, b):
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _inside(corners, centre, half, angle, way, margin):
    """Whether each of (pairs, 4) corners lies in the box of its pair, or nearly so."""
    apart = corners - centre[:, None]
    cosine, sine = torch.cos(-angle)[:, None], torch.sin(-angle)[:, None] * way
    x = apart[..., 0] * cosine - apart[..., 1] * sine
    y = apart[..., 0] * sine + apart[..., 1] * cosine
    return (x.abs() < half[:, :1] + margin) & (y.abs() < half[:, 1:] + margin)


def _areas(
    corners_a, centre_a, half_a, angle_a, way_a, margin_a, corners_b, centre_b, half_b, angle_b, way_b, margin_b
):
    """The area that the two boxes of each pair share: corners inside the other, and crossings, in order around."""
    p0, q0 = corners_a[:, :, None], corners_b[:, None]
    p1, q1 = corners_a.roll(-1, 1)[:, :, None], corners_b.roll(-1, 1)[:, None]
    s1, s2 = _cross(q0 - p0, p1 - p0), _cross(p1 - p0, q1 - p0)
    s3, s4 = _cross(p0 - q0, q1 - q0), _cross(q1 - q0, p1 - q0)
    near = (torch.minimum(p0, p1) <= torch.maximum(q0, q1)) & (torch.minimum(q0, q1) <= torch.maximum(p0, p1))
    meets = near.all(-1) & (s1 * s2 > 0) & (s3 * s4 > 0)
    s5 = _cross(q1 - p0, p1 - p0)
    meets = meets & (s5 != s1)
    below = torch.where(s5 != s1, s5 - s1, torch.ones_like(s5))
    crossing = (s5[..., None] * q0 - s1[..., None] * q1) / below[..., None]
    points = torch.cat([crossing.flatten(1, 2), corners_b, corners_a], 1)
    there = torch.cat(
        [
            meets.flatten(1, 2),
            _inside(corners_b, centre_a, half_a, angle_a, way_a, margin_a),
            _inside(corners_a, centre_b, half_b, angle_b, way_b, margin_b),
        ],
        1,
    )
    number = there.sum(1)
    points = torch.where(there[..., None], points, torch.zeros_like(points))
    middle = points.sum(1) / number.clamp(min=1)[:, None]
    apart = points - middle[:, None]
    angle = torch.where(there, torch.atan2(apart[..., 1], apart[..., 0]), torch.full_like(points[..., 0], 2 * math.pi))
    order = angle.argsort(dim=1, stable=True)
    around = apart.gather(1, order[..., None].expand(-1, -1, 2))
    known = there.gather(1, order)[..., None]
    from_first = torch.where(known, around - around[:, :1], torch.zeros_like(around))
    return _cross(from_first[:, :-1], from_first[:, 1:]).sum(1).abs() / 2


def _keep(suppresses, keep):
    """A box stays if no earlier box that stays is too close. From the first on, each pass settles one more link."""
    before = suppresses.t().tril(-1).float()
    stays = torch.ones(len(suppresses), device=suppresses.device)
    while len(suppresses):
        now = (before @ stays == 0).float()
        if torch.equal(now, stays):
            break
        stays = now
    places = stays.nonzero()[:, 0]
    keep[: len(places)] = places.to(keep.device)
    return len(places)
