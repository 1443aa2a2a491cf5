# mypy: ignore-errors
"""Points in turned boxes, and their features pooled by box, as OpenPCDet has them.

float32; boxes are (x, y, z, dx, dy, dz, heading) around their centres. For all pairs of a point and a box it is held
whether the point lies in it. Pooling by cells works on the pairs that do, whose number depends on the data: the device
is asked for it once. A margin of 1e-5, or of 0.01 in the function for the CPU, counts as inside, as in the kernels.
"""

import torch


def _local(pts, boxes, margin):
    """(boxes, points): whether a point lies in a box; and its three coordinates in the box's own axes."""
    apart = pts[..., None, :, :] - boxes[..., :, None, :3]
    half, heading = boxes[..., :, None, 3:6] / 2, boxes[..., :, None, 6]
    cosine, sine = torch.cos(-heading), torch.sin(-heading)
    x = apart[..., 0] * cosine - apart[..., 1] * sine
    y = apart[..., 0] * sine + apart[..., 1] * cosine
    inside = (apart[..., 2].abs() <= half[..., 2]) & (x.abs() < half[..., 0] + margin)
    return inside & (y.abs() < half[..., 1] + margin), (x, y, apart[..., 2])


def points_in_boxes_gpu(boxes_tensor, pts_tensor, box_idx_of_points_tensor):
    """The first of (batch, boxes, 7) that each of (batch, points, 3) lies in; what is there stays for the others."""
    inside, _ = _local(pts_tensor, boxes_tensor, 1e-5)
    if not inside.shape[1]:
        return 1
    first = inside.int().argmax(1).to(box_idx_of_points_tensor.dtype)
    box_idx_of_points_tensor.copy_(torch.where(inside.any(1), first, box_idx_of_points_tensor))
    return 1


def points_in_boxes_cpu(boxes_tensor, pts_tensor, pts_indices_tensor):
    """Whether each of (points, 3) lies in each of (boxes, 7), as 1 or 0 in (boxes, points)."""
    pts_indices_tensor.copy_(_local(pts_tensor, boxes_tensor, 1e-2)[0])
    return 1


# --- pooling by cells of a box ---


def roiaware_pool3d_forward(rois, pts, pts_feature, argmax, pts_idx_of_voxels, pooled_features, pool_method):
    """The largest (0) or mean (1) features of the points in each cell of each box, of as many as there is room for.

    Args:
        rois: (boxes, 7).
        pts: (points, 3).
        pts_feature: (points, channels).
        argmax: (boxes, x, y, z, channels), which points have the largest, or -1.
        pts_idx_of_voxels: (boxes, x, y, z, most + 1), zeros; how many points are in a cell, and which.
        pooled_features: (boxes, x, y, z, channels), where empty cells keep what is there.
    """
    boxes, *shape, most = pts_idx_of_voxels.shape
    inside, local = _local(pts, rois, 1e-5)
    cell = torch.zeros_like(inside, dtype=torch.long)
    for axis in range(3):
        size = rois[:, 3 + axis, None]
        at = ((local[axis] + size / 2) / (size / shape[axis])).trunc().clamp(0, shape[axis] - 1)
        cell = cell * shape[axis] + at.long()
    cells = shape[0] * shape[1] * shape[2]
    cell = torch.where(inside, cell, torch.full_like(cell, cells))
    order = cell.argsort(dim=1, stable=True)
    in_order = cell.gather(1, order).contiguous()
    rank = torch.arange(len(pts), device=pts.device) - torch.searchsorted(in_order, in_order)
    counts = (in_order < cells) & (rank < most - 1)
    flat = pts_idx_of_voxels.reshape(boxes * cells, most)
    first = torch.arange(boxes, device=pts.device)[:, None] * cells
    box_cell, point, place = (first + in_order)[counts], order[counts], rank[counts]
    flat[box_cell, place + 1] = point.to(flat.dtype)
    flat[:, 0].index_add_(0, box_cell, torch.ones_like(point, dtype=flat.dtype))
    pts_idx_of_voxels.copy_(flat.reshape(pts_idx_of_voxels.shape))
    values = pts_feature[point]
    pooled, channels = pooled_features.reshape(boxes * cells, -1), pts_feature.shape[1]
    if pool_method == 1:
        total = torch.zeros_like(pooled).index_add(0, box_cell, values)
        number = flat[:, :1]
        pooled_features.copy_(
            torch.where(number > 0, total / number.clamp(min=1), pooled).reshape(pooled_features.shape)
        )
        return 1
    into = box_cell[:, None].expand(-1, channels)
    least = torch.full_like(pooled, float("-inf"))
    largest = least.scatter_reduce(0, into, values, "amax")
    there = largest > least
    pooled_features.copy_(torch.where(there, largest, pooled).reshape(pooled_features.shape))
    none = torch.full_like(pooled, len(pts), dtype=torch.long)
    candidate = torch.where(values == largest[box_cell], point[:, None].expand(-1, channels), none[:1])
    which = none.scatter_reduce(0, into, candidate, "amin")
    argmax.copy_(torch.where(there, which, torch.full_like(which, -1)).reshape(argmax.shape))
    return 1


def roiaware_pool3d_backward(pts_idx_of_voxels, argmax, grad_out, grad_in, pool_method):
    """The gradient of the features is added to ``grad_in``."""
    channels = grad_out.shape[-1]
    grad = grad_out.reshape(-1, channels)
    if pool_method == 1:
        lists = pts_idx_of_voxels.reshape(len(grad), -1)
        number = lists[:, :1]
        there = torch.arange(lists.shape[1] - 1, device=lists.device) < number
        cell = torch.arange(len(grad), device=grad.device)[:, None].expand_as(there)[there]
        grad_in.index_add_(0, lists[:, 1:][there].long(), (grad / number.clamp(min=1))[cell])
        return 1
    place = argmax.reshape(-1, channels).long()
    given = torch.where(place >= 0, grad, torch.zeros_like(grad))
    grad_in.scatter_add_(0, place.clamp(min=0), given)
    return 1


# --- the points of a box ---


def roipoint_pool3d_forward(xyz, boxes3d, pts_feature, pooled_features, pooled_empty_flag):
    """The first points in each box, with their features; again from the first on where there are too few.

    Args:
        xyz: (batch, points, 3).
        boxes3d: (batch, boxes, 7).
        pts_feature: (batch, points, channels).
        pooled_features: (batch, boxes, number, 3 + channels); empty boxes keep what is there.
        pooled_empty_flag: (batch, boxes), 1 where a box is empty.
    """
    batch, points, _ = xyz.shape
    number = pooled_features.shape[2]
    inside, _ = _local(xyz, boxes3d, 1e-5)
    rank = inside.long().cumsum(-1) - 1
    held = min(number, points)
    counts = inside & (rank < held)
    place = torch.where(counts, rank, torch.full_like(rank, held))
    which = torch.arange(points, device=xyz.device).expand_as(place)
    lists = place.new_zeros(*place.shape[:2], held + 1).scatter(2, place, which)
    many = counts.sum(-1, keepdim=True)
    turn = torch.arange(number, device=xyz.device) % many.clamp(min=1)
    point = lists.gather(2, turn)
    rows = torch.cat([xyz, pts_feature], -1)
    at = point.reshape(batch, -1, 1).expand(-1, -1, rows.shape[-1])
    taken = rows.gather(1, at).reshape(pooled_features.shape)
    empty = many == 0
    pooled_features.copy_(torch.where(empty[..., None], pooled_features, taken))
    pooled_empty_flag.copy_(torch.where(empty[..., 0], torch.ones_like(pooled_empty_flag), pooled_empty_flag))
    return 1
