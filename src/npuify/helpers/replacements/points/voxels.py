# mypy: ignore-errors
"""Points sorted into the cells of a grid, as mmdetection3d's voxel layer does it, and features reduced by cell.

float32. Where a point belongs is decided for all points at once by sorting them; the kernel compares each point with
all before it. Cells and points are in the order of the points, which the kernel keeps if it is asked to be
deterministic, and not otherwise. How many cells there are is read from the device once.
"""

import math

import torch


def _cells(points, voxel_size, coors_range):
    """(points, 3): the cell of each point along x, y and z, and whether it is in the grid along each."""
    places = []
    for axis in range(3):
        size = math.floor((coors_range[3 + axis] - coors_range[axis]) / voxel_size[axis] + 0.5)
        place = torch.floor((points[:, axis] - coors_range[axis]) / voxel_size[axis])
        places.append((place, (place >= 0) & (place < size), size))
    return places


def dynamic_voxelize(points, coors, voxel_size, coors_range, NDim=3):
    """The cell (z, y, x) of each point into ``coors``; -1 for those outside, as far as the kernel writes it."""
    _into_coors(points, coors, voxel_size, coors_range, (2, 1, 0))


def dynamic_voxelize_xyz(points, coors, voxel_size, coors_range, NDim=3):
    """``dynamic_voxelize`` for kernels that write x first."""
    _into_coors(points, coors, voxel_size, coors_range, (0, 1, 2))


def _into_coors(points, coors, voxel_size, coors_range, order):
    places = _cells(points, voxel_size, coors_range)
    inside = [one for _, one, _ in places]
    everywhere = inside[0] & inside[1] & inside[2]
    # The kernel looks at x, then y, then z, and stops at the first that is outside, with -1 in so many columns.
    failed = [~inside[0] | ~everywhere, inside[0] & ~everywhere, inside[0] & inside[1] & ~everywhere]
    for column, axis in enumerate(order):
        made = torch.where(everywhere, places[axis][0], torch.full_like(places[axis][0], -1)).to(coors.dtype)
        coors[:, column] = torch.where(everywhere | failed[column], made, coors[:, column])


def hard_voxelize(
    points, voxels, coors, num_points_per_voxel, voxel_size, coors_range, max_points, max_voxels, NDim=3,
    deterministic=True,
):  # fmt: skip
    """Points by cell, as many of each and as many cells as there is room for; returns the number of cells.

    Args:
        points: (points, features), of which x, y and z are the first.
        voxels: (cells, max_points, features), zeros.
        coors: (cells, 3), z, y and x of each cell.
        num_points_per_voxel: (cells), zeros.
        voxel_size: of x, y and z.
        coors_range: the lowest x, y and z, and the highest.
        max_points: of a cell; later ones are left out.
        max_voxels: later cells are left out.
        NDim: 3.
        deterministic: the order of the points counts, in any case here.
    """
    args = (points, voxels, coors, num_points_per_voxel, voxel_size, coors_range, max_points, max_voxels)
    return _hard(*args, (2, 1, 0))


def hard_voxelize_xyz(
    points, voxels, coors, num_points_per_voxel, voxel_size, coors_range, max_points, max_voxels, NDim=3,
    deterministic=True,
):  # fmt: skip
    """``hard_voxelize`` for kernels that write x first."""
    args = (points, voxels, coors, num_points_per_voxel, voxel_size, coors_range, max_points, max_voxels)
    return _hard(*args, (0, 1, 2))


def _hard(points, voxels, coors, num_points_per_voxel, voxel_size, coors_range, max_points, max_voxels, order):
    number = len(points)
    if not number:
        return 0
    places = _cells(points, voxel_size, coors_range)
    inside = places[0][1] & places[1][1] & places[2][1]
    cell = ((places[2][0].long() * places[1][2]) + places[1][0].long()) * places[0][2] + places[0][0].long()
    outside = places[0][2] * places[1][2] * places[2][2]
    cell = torch.where(inside, cell, torch.full_like(cell, outside))
    by_cell = cell.argsort(stable=True)
    in_order = cell[by_cell].contiguous()
    begin = torch.searchsorted(in_order, in_order)
    place = torch.arange(number, device=points.device)
    rank = torch.empty_like(place).index_copy(0, by_cell, place - begin)
    first = torch.empty_like(place).index_copy(0, by_cell, by_cell[begin])
    begins = inside & (rank == 0)
    voxel = (begins.long().cumsum(0) - 1)[first]
    counts = inside & (rank < max_points) & (voxel < max_voxels)
    room = len(voxels) * max_points
    flat = voxels.reshape(room, -1)
    flat = torch.cat([flat, flat.new_zeros(1, flat.shape[1])])
    into = torch.where(counts, voxel * max_points + rank, torch.full_like(voxel, room))
    voxels.copy_(flat.index_copy(0, into, points.to(flat.dtype))[:room].reshape(voxels.shape))
    into = torch.where(counts & begins, voxel, torch.full_like(voxel, len(coors)))
    longer = torch.cat([coors, coors.new_zeros(1, coors.shape[1])])
    cells = torch.stack([places[axis][0] for axis in order], 1).to(coors.dtype)
    coors.copy_(longer.index_copy(0, into, cells)[: len(coors)])
    into = torch.where(counts, voxel, torch.full_like(voxel, len(num_points_per_voxel)))
    longer = torch.cat([num_points_per_voxel, num_points_per_voxel.new_zeros(1)])
    ones = torch.ones_like(into, dtype=longer.dtype)
    num_points_per_voxel.copy_(longer.index_add(0, into, ones)[:-1])
    return min(int(begins.sum()), max_voxels)


# --- features by cell ---


def dynamic_point_to_voxel_forward(feats, coors, reduce_type):
    """The features of each cell, the cells in rising order, the cell of each point or -1, and the sizes of the cells.

    Args:
        feats: (points, features).
        coors: (points, any), negative for points that count for nothing.
        reduce_type: ``max``, ``sum`` or ``mean``.
    """
    if not len(feats):
        none = coors.new_empty(0, dtype=torch.int32)
        return [feats.clone().detach(), coors.clone().detach(), none, none.clone()]
    clean = torch.where((coors < 0).any(-1, keepdim=True), torch.full_like(coors, -1), coors)
    cells, which, counts = torch.unique(clean, dim=0, return_inverse=True, return_counts=True)
    if int(cells[0, 0]) < 0:
        cells, counts, which = cells[1:], counts[1:], which - 1
    there = which >= 0
    into = torch.where(there, which, torch.full_like(which, len(cells)))
    if reduce_type == "max":
        reduced = feats.new_full((len(cells) + 1, feats.shape[1]), float("-inf"))
        reduced = reduced.scatter_reduce(0, into[:, None].expand_as(feats), feats, "amax")[:-1]
    else:
        reduced = feats.new_zeros(len(cells) + 1, feats.shape[1]).index_add(0, into, feats)[:-1]
        reduced = reduced / counts[:, None].to(reduced.dtype) if reduce_type == "mean" else reduced
    return [reduced, cells, which.int(), counts.int()]


def dynamic_point_to_voxel_backward(
    grad_feats, grad_reduced_feats, feats, reduced_feats, coors_idx, reduce_count, reduce_type
):
    """The gradient of the features, written; of equal largest features the first point has it."""
    grad_feats.zero_()
    if not len(feats) or not len(reduced_feats):
        return
    there, which = (coors_idx >= 0)[:, None], coors_idx.long().clamp(min=0)
    if reduce_type != "max":
        grad = grad_reduced_feats[which]
        grad = grad / reduce_count.long()[which, None].to(grad.dtype) if reduce_type == "mean" else grad
        grad_feats.copy_(torch.where(there, grad, torch.zeros_like(grad)))
        return
    number = len(feats)
    point = torch.arange(number, device=feats.device)[:, None].expand_as(feats)
    largest = there & (feats == reduced_feats[which])
    point = torch.where(largest, point, torch.full_like(point, number))
    source = torch.full_like(reduced_feats, number, dtype=torch.long)
    source = source.scatter_reduce(0, which[:, None].expand_as(feats), point, "amin")
    longer = grad_feats.new_zeros(number + 1, feats.shape[1])
    grad_feats.copy_(longer.scatter_add(0, source, grad_reduced_feats)[:-1])
