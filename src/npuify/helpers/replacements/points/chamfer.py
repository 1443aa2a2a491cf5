# mypy: ignore-errors
"""The squared distance of each point of one set to the nearest of another, both ways.

float32, points of any dimension. The distances of all pairs are computed in slices of at most 2**25 numbers, where the
kernel holds none. Of points equally near the first counts.
"""

import torch

_AT_ONCE = 2**25


def forward(xyz1, xyz2, dist1, dist2, idx1, idx2):
    """Sets (batch, n, dimensions) and (batch, m, dimensions); the results are written into the other four."""
    for a, b, dist, idx in ((xyz1, xyz2, dist1, idx1), (xyz2, xyz1, dist2, idx2)):
        step = max(1, _AT_ONCE // max(1, a.shape[0] * b.shape[1]))
        found = [_nearest(one, b) for one in a.split(step, 1)]
        dist.copy_(torch.cat([distance for distance, _ in found], 1))
        idx.copy_(torch.cat([place for _, place in found], 1))
    return 1


def _nearest(a, b):
    result = None
    for axis in range(a.shape[-1]):
        apart = (b[:, None, :, axis] - a[:, :, None, axis]) ** 2
        result = apart if result is None else result + apart
    return result.min(dim=-1)


def backward(xyz1, xyz2, gradxyz1, gradxyz2, graddist1, graddist2, idx1, idx2):
    """The gradients are added to ``gradxyz1`` and ``gradxyz2``."""
    for a, b, grad_a, grad_b, grad, idx in (
        (xyz1, xyz2, gradxyz1, gradxyz2, graddist1, idx1),
        (xyz2, xyz1, gradxyz2, gradxyz1, graddist2, idx2),
    ):
        place = idx.long()[..., None].expand(-1, -1, a.shape[-1])
        moved = 2 * grad[..., None] * (a - b.gather(1, place))
        grad_a += moved
        grad_b.scatter_add_(1, place, -moved)
    return 1


# --- the same, with results that are returned ---


def forward_returned(xyz1, xyz2):
    """The distances and places of the first set's points, and of the second's: dist1, dist2, idx1, idx2."""
    dist1, dist2 = xyz1.new_zeros(xyz1.shape[:2]), xyz1.new_zeros(xyz2.shape[:2])
    idx1, idx2 = (torch.zeros(one.shape, dtype=torch.int32, device=one.device) for one in (dist1, dist2))
    forward(xyz1, xyz2, dist1, dist2, idx1, idx2)
    return [dist1, dist2, idx1, idx2]


def backward_returned(xyz1, xyz2, idx1, idx2, grad_dist1, grad_dist2):
    """The gradients of both sets."""
    made = [torch.zeros_like(xyz1), torch.zeros_like(xyz2)]
    backward(xyz1, xyz2, *made, grad_dist1, grad_dist2, idx1, idx2)
    return made
