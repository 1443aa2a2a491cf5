# mypy: ignore-errors
"""Operators of point-voxel networks (PVCNN): points by cell and back, neighbours, groups, samples.

float32 and int32; points are (batch, 3, points). Neighbours hold the squared distances of all pairs; sampling takes one
step of the host for each sample. Of points equally near, or far, the one counts that the kernel takes.
"""

import torch


def _squared_distances(a, b):
    """(batch, points of a, points of b) of (batch, 3, points)."""
    result = None
    for axis in range(3):
        apart = (a[:, axis, :, None] - b[:, axis, None]) ** 2
        result = apart if result is None else result + apart
    return result


def _along_channels(places, features):
    return places.long()[:, None].expand(-1, features.shape[1], -1)


def gather_features_forward(features, indices):
    """(batch, channels, points) at (batch, places)."""
    return features.gather(2, _along_channels(indices, features))


def gather_features_backward(grad_y, indices, n):
    result = grad_y.new_zeros(*grad_y.shape[:2], n)
    return result.scatter_add(2, _along_channels(indices, grad_y), grad_y)


def grouping_forward(features, indices):
    """(batch, channels, points) at (batch, groups, members)."""
    return gather_features_forward(features, indices.flatten(1)).reshape(*features.shape[:2], *indices.shape[1:])


def grouping_backward(grad_y, indices, n):
    return gather_features_backward(grad_y.flatten(2), indices.flatten(1), n)


def ball_query(centers_coords, points_coords, radius, num_neighbors):
    """The first points nearer than ``radius`` to each centre; the first again, or 0, fill the rest."""
    points = points_coords.shape[2]
    limit = float(torch.tensor(radius, dtype=torch.float32) ** 2)
    order = torch.arange(points, device=points_coords.device, dtype=torch.float32)
    order = torch.where(
        _squared_distances(centers_coords, points_coords) < limit, order, torch.full_like(order, points)
    )
    first = order.topk(min(num_neighbors, points), dim=-1, largest=False, sorted=True).values
    if points < num_neighbors:
        first = torch.nn.functional.pad(first, (0, num_neighbors - points), value=points)
    some = first[..., :1] < points
    first = torch.where(first < points, first, first[..., :1])
    return torch.where(some, first, torch.zeros_like(first)).int()


def furthest_point_sampling(coords, num_samples):
    """(batch, 3, points) gives (batch, samples). Between points equally far the 512 threads of the kernel decide.

    Thread ``t`` looks at each 512th point, and threads are compared in neighbouring pairs: the lowest thread wins.
    """
    batch, _, number = coords.shape
    place = torch.arange(number, device=coords.device)
    order = (place % 512 * (number // 512 + 1) + place // 512).argsort()
    points = coords[:, :, order]
    distance = torch.full((batch, number), 1e38, device=coords.device, dtype=coords.dtype)
    last = (order == 0).int().argmax().expand(batch)
    taken = [last]
    for _ in range(1, num_samples):
        chosen = points.gather(2, last[:, None, None].expand(-1, 3, 1))
        distance = torch.minimum(distance, _squared_distances(chosen, points)[:, 0])
        last = distance.argmax(-1)
        taken.append(last)
    return order[torch.stack(taken, -1)].int()


def three_nearest_neighbors_interpolate_forward(points_coords, centers_coords, centers_features):
    """The features of the three nearest centres, by inverse distances; with their places and weights."""
    left = _squared_distances(points_coords, centers_coords)
    distances, places = [], []
    for _ in range(3):
        distance, place = left.min(-1, keepdim=True)
        distances.append(distance.clamp(1e-10, 1e10)[..., 0])
        places.append(torch.where(torch.isinf(distance), torch.zeros_like(place), place)[..., 0])
        left = left.scatter(-1, place, float("inf"))
    products = [distances[1] * distances[2], distances[0] * distances[2], distances[0] * distances[1]]
    weights = torch.stack(products, 1) / (products[2] + products[1] + products[0])[:, None]
    indices = torch.stack(places, 1)
    seen = grouping_forward(centers_features, indices)
    return [(seen * weights[:, None]).sum(2), indices.int(), weights]


def three_nearest_neighbors_interpolate_backward(grad_y, indices, weights, m):
    return grouping_backward(grad_y[:, :, None] * weights[:, None], indices, m)


# --- cells ---


def avg_voxelize_forward(features, coords, resolution):
    """The mean features of each cell (batch, channels, cells), the cell of each point, and how many a cell has."""
    x, y, z = coords.long().unbind(1)
    cell = (x * resolution + y) * resolution + z
    cells = resolution**3
    counts = torch.zeros(len(cell), cells, device=features.device, dtype=torch.int32)
    counts = counts.scatter_add(1, cell, torch.ones_like(cell, dtype=torch.int32))
    share = features / counts.gather(1, cell).clamp(min=1)[:, None]
    out = features.new_zeros(*features.shape[:2], cells).scatter_add(2, _along_channels(cell, features), share)
    return [out, cell.int(), counts]


def avg_voxelize_backward(grad_y, indices, cnt):
    given = gather_features_forward(grad_y, indices)
    return given / cnt.gather(1, indices.long()).clamp(min=1)[:, None]


def trilinear_devoxelize_forward(r, is_training, coords, features):
    """The features of the eight cells around each point, by their shares; with places and shares for training."""
    low = coords.floor()
    part = coords - low
    shares, places = [], []
    sizes = (r * r, r, 1)
    first = sum(low[:, axis].long() * sizes[axis] for axis in range(3))
    for corner in range(8):
        upper = [corner >> 2 & 1, corner >> 1 & 1, corner & 1]
        share, place = torch.ones_like(part[:, 0]), first
        for axis in range(3):
            share = share * (part[:, axis] if upper[axis] else 1 - part[:, axis])
            # On a cell's border the next one, which may not be there, is not looked at.
            place = place + (part[:, axis] > 0).long() * sizes[axis] if upper[axis] else place
        shares.append(share)
        places.append(place)
    wgts, inds = torch.stack(shares, 1), torch.stack(places, 1).int()
    outs = (grouping_forward(features, inds) * wgts[:, None]).sum(2)
    if not is_training:
        inds, wgts = inds.new_zeros(1), wgts.new_zeros(1)
    return [outs, inds, wgts]


def trilinear_devoxelize_backward(grad_y, indices, weights, r):
    return grouping_backward(grad_y[:, :, None] * weights[:, None], indices, r**3)
