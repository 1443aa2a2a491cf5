# mypy: ignore-errors
"""The nearest points, as KNN_CUDA and mmdetection3d find them, and points in a shell around centres.

float32 and float64. The distances of all pairs are held in slices of at most 2**25 numbers; there is no gradient, as in
the kernels.
"""

import torch

_AT_ONCE = 2**25
_FAR = 1e10


def _squared(a, b):
    """(…, points of a, points of b) from points with their coordinates last."""
    return sum((a[..., :, None, axis] - b[..., None, :, axis]) ** 2 for axis in range(a.shape[-1]))


def knn(ref, query, k):
    """Of (dimensions, points): the distances (k, queries) of the nearest, rising, and their places, from 1 on.

    Of points equally near the first comes first, as in the kernel.
    """
    ref, query = ref.t(), query.t()
    distances, places = [], []
    for part in torch.arange(len(query), device=query.device).split(max(1, _AT_ONCE // max(1, len(ref)))):
        near = _squared(query[part], ref).sort(dim=1, stable=True)
        distances.append(near.values[:, :k].sqrt())
        places.append(near.indices[:, :k] + 1)
    return [torch.cat(distances).t(), torch.cat(places).t()]


def knn_wrapper(b, n, m, nsample, xyz, new_xyz, idx, dist2):
    """Squared distances and places of the nearest; 1e10 and 0 where there are fewer points."""
    xyz, new_xyz = xyz.reshape(b, n, 3), new_xyz.reshape(b, m, 3)
    idx_to, dist_to = idx.reshape(b, m, nsample), dist2.reshape(b, m, nsample)
    count = min(n, nsample)
    for part in torch.arange(m, device=xyz.device).split(max(1, _AT_ONCE // max(1, b * n))):
        near = _squared(new_xyz[:, part], xyz).topk(count, dim=-1, largest=False, sorted=True)
        known = near.values < _FAR
        distances = torch.where(known, near.values, torch.full_like(near.values, _FAR))
        places = torch.where(known, near.indices, torch.zeros_like(near.indices))
        dist_to[:, part] = torch.nn.functional.pad(distances, (0, nsample - count), value=_FAR).to(dist_to.dtype)
        idx_to[:, part] = torch.nn.functional.pad(places, (0, nsample - count)).to(idx_to.dtype)


def ball_query_wrapper(b, n, m, min_radius, max_radius, nsample, new_xyz, xyz, idx):
    """The first points in a shell around each centre, or at it; ``idx`` stays where there is none."""
    xyz, new_xyz, target = xyz.reshape(b, n, 3), new_xyz.reshape(b, m, 3), idx.reshape(b, m, nsample)
    low, high = (float(torch.tensor(one, dtype=torch.float32) ** 2) for one in (min_radius, max_radius))
    count = min(n, nsample)
    for part in torch.arange(m, device=xyz.device).split(max(1, _AT_ONCE // max(1, b * n))):
        apart = _squared(new_xyz[:, part], xyz)
        inside = (apart == 0) | ((apart >= low) & (apart < high))
        order = torch.arange(n, device=xyz.device, dtype=torch.float32).expand_as(apart)
        order = torch.where(inside, order, torch.full_like(order, n))
        first = order.topk(count, dim=-1, largest=False, sorted=True).values
        first = torch.nn.functional.pad(first, (0, nsample - count), value=n)
        any_there = first[..., :1] < n
        first = torch.where(first < n, first, first[..., :1]).to(target.dtype)
        target[:, part] = torch.where(any_there, first, target[:, part])
    return 1
