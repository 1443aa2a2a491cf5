# mypy: ignore-errors
"""Points and grids of GRNet: points spread over the corners of their cells, points out of a grid, features of corners.

float32 and float64. Each point reaches the 8 corners of its cell, or with a neighbourhood all corners around;
all at once.
"""

import torch

_NOTHING = 1e-6
"""Below which a cell of a grid gives no point, as in the kernel."""


def _corner_bits(device):
    """(8, 3): 0 for the lower and 1 for the upper side, the last axis fastest."""
    number = torch.arange(8, device=device)
    return torch.stack([number // 4, number // 2 % 2, number % 2], 1)


def _corners(ranges, points):
    """The place of each of the 8 corners around points, and the weights along x, y and z."""
    low = torch.tensor(ranges[::2], dtype=points.dtype, device=points.device)
    lengths = [int(ranges[2 * axis + 1] - ranges[2 * axis] + 1) for axis in range(3)]
    lower = points.floor()
    corner = lower[:, :, None] + _corner_bits(points.device).to(points.dtype)
    weights = 1 - (points[:, :, None] - corner).abs()
    at = (corner - low).long()
    return (
        (at[..., 0] * lengths[1] + at[..., 1]) * lengths[2] + at[..., 2],
        weights,
        lengths[0] * lengths[1] * lengths[2],
    )


def _spread(ranges, points, each):
    places, weights, number = _corners(ranges, points)
    if each:
        places = places * 8 + torch.arange(8, device=points.device)
        number = number * 8
    grid = points.new_zeros(len(points), number)
    grid.scatter_add_(1, places.flatten(1), weights.prod(-1).flatten(1))
    return grid.reshape(len(points), -1, 8) if each else grid, weights, places.int()


def _spread_backward(weights, places, grad):
    along = grad.flatten(1).gather(1, places.long().flatten(1)).reshape(places.shape)
    x, y, z = weights.unbind(-1)
    sign = (_corner_bits(weights.device) * 2 - 1).to(weights.dtype)
    return ((torch.stack([y * z, x * z, x * y], -1) * sign) * along[..., None]).sum(2)


def gridding_forward(min_x, max_x, min_y, max_y, min_z, max_z, ptcloud):
    """The weights of all points at each corner of a grid, the weights of each point, and the places of its corners."""
    return list(_spread((min_x, max_x, min_y, max_y, min_z, max_z), ptcloud, False))


def gridding_backward(grid_pt_weights, grid_pt_indexes, grad_grid):
    return _spread_backward(grid_pt_weights, grid_pt_indexes, grad_grid)


def distance_forward(min_x, max_x, min_y, max_y, min_z, max_z, ptcloud):
    """``gridding_forward``, where a corner keeps apart what comes from each of its 8 sides."""
    return list(_spread((min_x, max_x, min_y, max_y, min_z, max_z), ptcloud, True))


def distance_backward(grid_pt_weights, grid_pt_indexes, grad_grid):
    return _spread_backward(grid_pt_weights, grid_pt_indexes, grad_grid)


def _cells(scale, grid):
    """The values at the 8 corners of each cell, (batch, scale - 1, scale - 1, scale - 1, 8), and their coordinates."""
    grid = grid.reshape(-1, scale, scale, scale)
    ends = [slice(0, scale - 1), slice(1, scale)]
    found = [grid[:, ends[a], ends[b], ends[c]] for a, b, c in _corner_bits("cpu").tolist()]
    base = torch.arange(scale - 1, device=grid.device, dtype=grid.dtype) - scale // 2
    base = torch.stack(torch.meshgrid(base, base, base, indexing="ij"), -1)
    return torch.stack(found, -1), base[..., None, :] + _corner_bits(grid.device).to(grid.dtype)


def rev_forward(scale, grid):
    """A point for each cell, in the middle of its corners by their weights; 0 where they weigh nothing."""
    values, corners = _cells(scale, grid)
    total = values.sum(-1, keepdim=True)
    share = torch.where(total < _NOTHING, torch.zeros_like(values), values / total)
    points = (share[..., None] * corners).sum(-2)
    # The first of each axis has no cell before it.
    points = torch.nn.functional.pad(points, (0, 0, 1, 0, 1, 0, 1, 0))
    return points.reshape(len(points), -1, 3)


def rev_backward(ptcloud, grid, grad_ptcloud):
    """(batch, points)."""
    scale = round(ptcloud.shape[1] ** (1 / 3))
    with torch.enable_grad():
        given = grid.detach().reshape(-1, ptcloud.shape[1]).requires_grad_()
        values, corners = _cells(scale, given)
        total = values.sum(-1, keepdim=True)
        empty = total < _NOTHING
        share = torch.where(empty, torch.zeros_like(values), values / torch.where(empty, torch.ones_like(total), total))
        points = (share[..., None] * corners).sum(-2)
    grad = grad_ptcloud.reshape(-1, scale, scale, scale, 3)[:, 1:, 1:, 1:]
    return torch.autograd.grad(points, given, grad)[0]


def cubic_forward(scale, neighborhood_size, ptcloud, cubic_features):
    """The features of the corners around each point, and their places; 0 and -1 outside."""
    batch, number, _ = ptcloud.shape
    step = torch.arange(2 * neighborhood_size, device=ptcloud.device) - (neighborhood_size - 1)
    around = torch.stack(torch.meshgrid(step, step, step, indexing="ij"), -1).reshape(-1, 3)
    at = ptcloud.floor().long()[:, :, None] + around
    inside = ((at >= 0) & (at < scale)).all(-1)
    place = (at[..., 0] * scale + at[..., 1]) * scale + at[..., 2]
    place = torch.where(inside, place, torch.full_like(place, -1))
    features = cubic_features.reshape(batch, -1, scale**3).transpose(1, 2)
    index = place.clamp(min=0).reshape(batch, -1, 1).expand(-1, -1, features.shape[2])
    found = features.gather(1, index).reshape(batch, number, len(around), -1) * inside[..., None]
    return [found, place.int()]


def cubic_backward(scale, neighborhood_size, grad_point_features, grid_pt_indexes):
    """The gradient of points, which is 0, and that of features."""
    batch, number, _, channels = grad_point_features.shape
    place = grid_pt_indexes.long().reshape(batch, -1, 1)
    given = (grad_point_features.reshape(batch, -1, channels) * (place >= 0)).transpose(1, 2)
    made = grad_point_features.new_zeros(batch, channels, scale**3)
    made.scatter_add_(2, place.clamp(min=0).transpose(1, 2).expand(-1, channels, -1), given)
    return [given.new_zeros(batch, number, 3), made.reshape(batch, channels, scale, scale, scale)]
