# mypy: ignore-errors
"""Features of image pixels summed by the cell of a map seen from above in which they lie, as BEVFusion has it.

float32. Points are sorted by cell, as the callers sort them: intervals rise, and each cell has one. The sum is one
``index_add``, whose order of addition is the device's; the kernel adds one after the other.
"""

import torch


def _cells(geom_feats, interval_lengths, interval_starts, sizes):
    """For each point the place of its interval's cell in the map, and whether it has one."""
    _, depth, height, width = sizes
    starts = interval_starts.long().contiguous()
    point = torch.arange(len(geom_feats), device=geom_feats.device)
    which = torch.searchsorted(starts, point, right=True) - 1
    there = (which >= 0) & (point < (starts + interval_lengths.long())[which.clamp(min=0)])
    y, x, z, b = geom_feats.long()[starts[which.clamp(min=0)]].unbind(-1)
    return torch.where(there, ((b * depth + z) * height + y) * width + x, torch.zeros_like(b)), there[:, None]


def bev_pool_forward(x, geom_feats, interval_lengths, interval_starts, b, d, h, w):
    """(points, channels) summed into (b, d, h, w, channels).

    Args:
        x: the features of the points.
        geom_feats: (points, 4), the row, column, height and image of the cell of each.
        interval_lengths: (intervals), how many points belong to a cell.
        interval_starts: (intervals), where they begin.
        b, d, h, w: the sizes of the map.
    """
    if not len(interval_starts):
        return x.new_zeros(b, d, h, w, x.shape[1])
    place, there = _cells(geom_feats, interval_lengths, interval_starts, (b, d, h, w))
    out = x.new_zeros(b * d * h * w, x.shape[1])
    return out.index_add(0, place, torch.where(there, x, torch.zeros_like(x))).reshape(b, d, h, w, -1)


def bev_pool_backward(out_grad, geom_feats, interval_lengths, interval_starts, b, d, h, w):
    """The gradient of the features of the points."""
    if not len(interval_starts):
        return out_grad.new_zeros(len(geom_feats), out_grad.shape[4])
    place, there = _cells(geom_feats, interval_lengths, interval_starts, (b, d, h, w))
    grad = out_grad.reshape(b * d * h * w, -1)[place]
    return torch.where(there, grad, torch.zeros_like(grad))
