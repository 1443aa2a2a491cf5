# mypy: ignore-errors
"""What torch_cluster's functions for neighbours, samples and grids compute on CUDA, in plain PyTorch.

The distances of all pairs of one slice are held at once, at most 2**24 numbers. How many neighbours there are decides
the size of what comes out, so that the device is asked for it. Sampling takes one step of the host for each sample, for
all sets together.
"""

import torch

_AT_ONCE = 2**24
_FAR = 1e10


def _rows(x):
    return x.view(-1, 1) if x.dim() == 1 else x


def _pairs(x, y, batch_x, batch_y, cosine=False):
    """Of some of ``y`` at once: which they are, their distances to all of ``x``, infinite in another set."""
    for part in torch.arange(len(y), device=y.device).split(max(1, _AT_ONCE // max(1, len(x) * x.shape[1]))):
        if cosine:
            size = (x * x).sum(1).sqrt() * (y[part] * y[part]).sum(1, keepdim=True).sqrt()
            apart = 1.0 - (y[part] @ x.t()) / size
        else:
            apart = ((x - y[part, None]) ** 2).sum(-1)
        if batch_x is not None and batch_y is not None:
            apart = apart.masked_fill(batch_x != batch_y[part, None], float("inf"))
        yield part, apart


def _found(near, part, places):
    rows = part[:, None].expand_as(near)[near]
    return torch.stack([rows, places.expand_as(near)[near]])


def _none(x):
    return torch.empty(2, 0, dtype=torch.long, device=x.device)


def knn(x, y, k, batch_x=None, batch_y=None, cosine=False, num_workers=1, batch_size=None):
    """For each of ``y`` the nearest of ``x``: (2, pairs) of places in ``y`` and ``x``, the nearest first."""
    if x.numel() == 0 or y.numel() == 0:
        return _none(x)
    x, y = _rows(x), _rows(y)
    made = []
    for part, apart in _pairs(x, y, batch_x, batch_y, cosine):
        # Of points equally near the first comes first, as in the kernel.
        near = apart.sort(dim=1, stable=True)
        known = near.values[:, :k] < _FAR
        made.append(_found(known, part, near.indices[:, :k]))
    return torch.cat(made, 1)


def radius(x, y, r, batch_x=None, batch_y=None, max_num_neighbors=32, num_workers=1, batch_size=None):
    """For each of ``y`` the first ``max_num_neighbors`` of ``x`` that are nearer than ``r``."""
    if x.numel() == 0 or y.numel() == 0:
        return _none(x)
    x, y = _rows(x), _rows(y)
    places, made = torch.arange(len(x), device=x.device)[None], []
    for part, apart in _pairs(x, y, batch_x, batch_y):
        near = apart < r * r
        made.append(_found(near & (near.cumsum(1) <= max_num_neighbors), part, places))
    return torch.cat(made, 1)


def _graph(pairs, loop, flow):
    assert flow in ["source_to_target", "target_to_source"]
    row, col = (pairs[1], pairs[0]) if flow == "source_to_target" else (pairs[0], pairs[1])
    if not loop:
        mask = row != col
        row, col = row[mask], col[mask]
    return torch.stack([row, col], dim=0)


def knn_graph(x, k, batch=None, loop=False, flow="source_to_target", cosine=False, num_workers=1, batch_size=None):
    return _graph(knn(x, x, k if loop else k + 1, batch, batch, cosine), loop, flow)


def radius_graph(
    x, r, batch=None, loop=False, max_num_neighbors=32, flow="source_to_target", num_workers=1, batch_size=None
):
    number = max_num_neighbors if loop else max_num_neighbors + 1
    return _graph(radius(x, x, r, batch, batch, number), loop, flow)


def nearest(x, y, batch_x=None, batch_y=None):
    """For each of ``x`` the place of the nearest of ``y`` in its set."""
    x, y = _rows(x), _rows(y)
    if batch_x is None and batch_y is not None:
        batch_x = torch.zeros_like(x[:, 0], dtype=torch.long)
    if batch_y is None and batch_x is not None:
        batch_y = torch.zeros_like(y[:, 0], dtype=torch.long)
    made = [apart.argmin(1) for _, apart in _pairs(y, x, batch_y, batch_x)]
    return torch.cat(made) if made else torch.empty(0, dtype=torch.long, device=x.device)


def fps(src, batch=None, ratio=None, random_start=True, batch_size=None, ptr=None):
    """The places of the samples of each set, each as far from those before it as can be."""
    src, ratio = src.reshape(len(src), -1), 0.5 if ratio is None else ratio
    if ptr is not None:
        ends = torch.as_tensor(ptr, device=src.device)
    elif batch is not None:
        sets = int(batch.max()) + 1 if batch_size is None else batch_size
        counts = torch.zeros(sets, dtype=torch.long, device=src.device).scatter_add_(0, batch, torch.ones_like(batch))
        ends = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    else:
        ends = torch.tensor([0, len(src)], device=src.device)
    begin, count = ends[:-1], ends[1:] - ends[:-1]
    wanted = torch.ceil(count.to(src.dtype) * ratio).long()
    most = int(count.max()) if len(count) else 0
    if not most:
        return torch.empty(0, dtype=torch.long, device=src.device)
    # All sets side by side; what lies behind the end of a set is never the farthest.
    inside = torch.arange(most, device=src.device) < count[:, None]
    points = src[(begin[:, None] + torch.arange(most, device=src.device)).clamp(max=len(src) - 1)]
    left = torch.where(inside, torch.full_like(inside, 1.0, dtype=src.dtype) * _FAR, torch.tensor(-1.0).to(points))
    last = torch.zeros(len(count), dtype=torch.long, device=src.device)
    if random_start:
        last = (torch.rand(len(count), device=src.device) * count).long().clamp(max=most - 1)
    taken = [last]
    for _ in range(int(wanted.max()) - 1):
        centre = points.gather(1, last[:, None, None].expand(-1, 1, points.shape[2]))
        left = torch.minimum(left, ((points - centre) ** 2).sum(-1))
        last = torch.where(inside, left, torch.full_like(left, -1.0)).argmax(1)
        taken.append(last)
    made = torch.stack(taken, 1) + begin[:, None]
    return made[torch.arange(made.shape[1], device=src.device) < wanted[:, None]]


def grid_cluster(pos, size, start=None, end=None):
    """The number of the cell of a grid in which each point lies."""
    pos = pos.reshape(len(pos), -1)
    start = pos.amin(0) if start is None else start
    end = pos.amax(0) if end is None else end
    cells = ((end - start) / size).long() + 1
    steps = torch.cat([cells.new_ones(1), cells.cumprod(0)[:-1]])
    return (((pos - start) / size).long() * steps).sum(1)
