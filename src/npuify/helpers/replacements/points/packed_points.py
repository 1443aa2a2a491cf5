# mypy: ignore-errors
"""Operators on point sets of any sizes that lie one behind the other, as Point Transformer and OpenPCDet have them.

float32 and int32. Where a set ends is read from the device once for each call; the sets are then taken one by one. The
distances of all pairs in a set are held, in slices of at most 2**24 numbers. ``furthest_point_sampling`` takes one step
for each sample. Of points equally near any counts, as in the kernel's heap.
"""

import torch

_AT_ONCE = 2**24
_FAR = 1e10


def _bounds(ends):
    """Where each set begins and ends, of (sets,) ends."""
    ends = ends.tolist()
    return list(zip([0, *ends[:-1]], ends))  # noqa: B905


def _squared_distances(a, b):
    result = None
    for axis in range(3):
        apart = (a[:, None, axis] - b[None, :, axis]) ** 2
        result = apart if result is None else result + apart
    return result


def _slices(queries, number):
    return queries.split(max(1, _AT_ONCE // max(1, number)))


# --- sets with offsets ---


def knn_query(m, nsample, xyz, new_xyz, offset, new_offset, idx, dist2):
    """The ``nsample`` nearest points of each query's set, by rising distance; -1 where there are too few."""
    _nearest(nsample, xyz, new_xyz, offset, new_offset, idx, dist2, lambda begin: -1)


def knnquery(m, nsample, xyz, new_xyz, offset, new_offset, idx, dist2):
    """``knn_query``; the first point of the set where there are too few."""
    _nearest(nsample, xyz, new_xyz, offset, new_offset, idx, dist2, lambda begin: begin)


def _nearest(nsample, xyz, new_xyz, offset, new_offset, idx, dist2, missing):
    for (begin, end), (first, last) in zip(_bounds(offset), _bounds(new_offset)):  # noqa: B905
        known = xyz[begin:end]
        for queries in _slices(torch.arange(first, last, device=xyz.device), end - begin):
            distance = _squared_distances(new_xyz[queries], known)
            if end - begin < nsample:
                distance = torch.nn.functional.pad(distance, (0, nsample - (end - begin)), value=_FAR)
            near, place = distance.topk(nsample, dim=1, largest=False, sorted=True)
            place = place + begin
            there = near < _FAR
            idx[queries] = torch.where(there, place, torch.full_like(place, missing(begin))).to(idx.dtype)
            dist2[queries] = torch.where(there, near, torch.full_like(near, _FAR))


def furthest_point_sampling(b, n, xyz, offset, new_offset, tmp, idx):
    """As many samples of each set as ``new_offset`` says; ``n`` is the size of the largest set."""
    bits = min(max(int(n), 1).bit_length() - 1, 10)
    for (begin, end), (first, last) in zip(_bounds(offset), _bounds(new_offset)):  # noqa: B905
        _sample(xyz[begin:end], tmp[begin:end], idx[first:last], begin, bits)


def stack_furthest_point_sampling(points, temp, xyz_batch_cnt, idx, num_sampled_points):
    """The same for sets of which the sizes are given."""
    ends = zip(_bounds(xyz_batch_cnt.cumsum(0)), _bounds(num_sampled_points.cumsum(0)))  # noqa: B905
    for (begin, end), (first, last) in ends:
        _sample(points[begin:end], temp[begin:end], idx[first:last], begin, 10)
    return 1


def _sample(points, temp, into, begin, bits):
    """Samples of one set; in ``temp`` the distances to all but the last. ``2**bits`` threads decide between equals."""
    place = torch.arange(len(points), device=points.device)
    thread, turn = place % 2**bits, place // 2**bits
    mirrored = torch.zeros_like(thread)
    for bit in range(bits):
        mirrored = mirrored * 2 + thread // 2**bit % 2
    order = (mirrored * (len(points) // 2**bits + 1) + turn).argsort()
    sorted_points, distance = points[order], temp[order]
    last = (order == 0).int().argmax()
    taken = [last]
    for _ in range(1, len(into)):
        distance = torch.minimum(_squared_distances(sorted_points[last][None], sorted_points)[0], distance)
        last = distance.argmax()
        taken.append(last)
    if len(into):
        into.copy_(order[torch.stack(taken)] + begin)
        temp[order] = distance


def grouping_forward(m, nsample, c, input, idx, output):
    """The rows of (n, c) at (m, nsample), into (m, nsample, c)."""
    output.copy_(input[idx.long()])


def grouping_backward(m, nsample, c, grad_output, idx, grad_input):
    """The gradient is added to ``grad_input``."""
    grad_input.index_add_(0, idx.long().reshape(-1), grad_output.reshape(-1, c))


def interpolation_forward(n, c, k, input, idx, weight, output):
    """The weighted rows of (m, c) at (n, k) are added to ``output``."""
    output += (input[idx.long()] * weight[..., None]).sum(1)


def interpolation_backward(n, c, k, grad_output, idx, weight, grad_input):
    given = grad_output[:, None] * weight[..., None]
    grad_input.index_add_(0, idx.long().reshape(-1), given.reshape(-1, c))


def subtraction_forward(n, nsample, c, input1, input2, idx, output):
    """Each row of ``input1`` less the rows of ``input2`` at (n, nsample)."""
    output.copy_(input1[:, None] - input2[idx.long()])


def subtraction_backward(n, nsample, c, idx, grad_output, grad_input1, grad_input2):
    grad_input1 += grad_output.sum(1)
    grad_input2.index_add_(0, idx.long().reshape(-1), -grad_output.reshape(-1, c))


def _shared(weight, c):
    """Weights of (n, nsample, w) for c channels: channel i has the weight i % w."""
    return weight[..., torch.arange(c, device=weight.device) % weight.shape[-1]]


def aggregation_forward(n, nsample, c, w_c, input, position, weight, idx, output):
    """The weighted sum of the rows at (n, nsample) and their positions is added to ``output``."""
    output += ((input[idx.long()] + position) * _shared(weight, c)).sum(1)


def aggregation_backward(
    n, nsample, c, w_c, input, position, weight, idx, grad_output, grad_input, grad_position, grad_weight
):
    """Gradients are added, but that of ``position``, which is written."""
    given = grad_output[:, None] * _shared(weight, c)
    grad_input.index_add_(0, idx.long().reshape(-1), given.reshape(-1, c))
    grad_position.copy_(given)
    of_weight = grad_output[:, None] * (input[idx.long()] + position)
    channel = (torch.arange(c, device=input.device) % w_c).expand_as(of_weight)
    grad_weight.scatter_add_(2, channel, of_weight)


# --- sets of which the sizes are given ---


def stack_ball_query(B, M, radius, nsample, new_xyz, new_xyz_batch_cnt, xyz, xyz_batch_cnt, idx):
    """The first ``nsample`` points of the set nearer than ``radius``; the first fills the rest.

    Where no point is near, -1 stands first, and the rest stays as it was.
    """
    limit = float(torch.tensor(radius, dtype=torch.float32) ** 2)
    sets = zip(_bounds(xyz_batch_cnt.cumsum(0)), _bounds(new_xyz_batch_cnt.cumsum(0)))  # noqa: B905
    for (begin, end), (first, last) in sets:
        for queries in _slices(torch.arange(first, last, device=xyz.device), end - begin):
            near = _squared_distances(new_xyz[queries], xyz[begin:end]) < limit
            places = torch.arange(end - begin, device=xyz.device)
            idx[queries] = _first(near, places.expand_as(near), nsample, idx[queries])
    return 1


def _first(good, places, nsample, before):
    """Of each row the first ``nsample`` places that are good."""
    number = good.shape[1]
    rank = torch.arange(number, device=good.device, dtype=torch.float32)
    rank = torch.where(good, rank, torch.full_like(rank, number))
    if number < nsample:
        rank = torch.nn.functional.pad(rank, (0, nsample - number), value=number)
    rank = rank.topk(nsample, dim=1, largest=False, sorted=True).values
    some = rank[:, :1] < number
    at = torch.where(rank < number, rank, rank[:, :1]).clamp(max=max(number - 1, 0)).long()
    found = places.gather(1, at) if number else before.long()
    none = torch.cat([torch.full_like(before[:, :1], -1), before[:, 1:]], 1)
    return torch.where(some, found.to(before.dtype), none)


def voxel_query(
    M, R1, R2, R3, nsample, radius, z_range, y_range, x_range, new_xyz, xyz, new_coords, point_indices, idx
):
    """The points of the cells around each query's cell, if not farther than ``radius``; as ``stack_ball_query``."""
    limit = float(torch.tensor(radius, dtype=torch.float32) ** 2)
    ranges = [torch.arange(-one, one + 1, device=xyz.device) for one in (z_range, y_range, x_range)]
    around = torch.stack(torch.meshgrid(*ranges, indexing="ij"), -1).reshape(-1, 3)
    sizes = torch.tensor([R1, R2, R3], device=xyz.device)
    for queries in _slices(torch.arange(M, device=xyz.device), len(around)):
        cell = new_coords[queries, None, 1:].long() + around
        inside = ((cell >= 0) & (cell < sizes)).all(-1)
        z, y, x = torch.where(inside[..., None], cell, torch.zeros_like(cell)).unbind(-1)
        at = ((new_coords[queries, :1].long() * R1 + z) * R2 + y) * R3 + x
        point = torch.where(inside, point_indices.reshape(-1)[at].long(), torch.full_like(at, -1))
        apart = xyz[point.clamp(min=0)] - new_xyz[queries, None]
        distance = apart[..., 0] ** 2 + apart[..., 1] ** 2 + apart[..., 2] ** 2
        idx[queries] = _first((point >= 0) & (distance <= limit), point, nsample, idx[queries])
    return 1


def _starts(batch_cnt, of_rows):
    """For each row, where the set begins that it belongs to."""
    ends = batch_cnt.long().cumsum(0)
    which = torch.searchsorted(
        of_rows.long().cumsum(0), torch.arange(int(of_rows.sum()), device=ends.device), right=True
    )
    return (ends - batch_cnt)[which]


def stack_group_points(B, M, C, nsample, features, features_batch_cnt, idx, idx_batch_cnt, out):
    """The rows of each set at (M, nsample), into (M, C, nsample)."""
    place = idx.long() + _starts(features_batch_cnt, idx_batch_cnt)[:M, None]
    out.copy_(features[place].transpose(1, 2))
    return 1


def stack_group_points_grad(B, M, C, N, nsample, grad_out, idx, idx_batch_cnt, features_batch_cnt, grad_features):
    place = idx.long() + _starts(features_batch_cnt, idx_batch_cnt)[:M, None]
    grad_features.index_add_(0, place.reshape(-1), grad_out.transpose(1, 2).reshape(-1, C))
    return 1


def stack_three_nn(unknown, unknown_batch_cnt, known, known_batch_cnt, dist2, idx):
    """The squared distances and places of the three nearest; infinite, and the set's first, where there are fewer."""
    sets = zip(_bounds(known_batch_cnt.cumsum(0)), _bounds(unknown_batch_cnt.cumsum(0)))  # noqa: B905
    for (begin, end), (first, last) in sets:
        for queries in _slices(torch.arange(first, last, device=known.device), end - begin):
            distance = _squared_distances(unknown[queries], known[begin:end])
            if end - begin < 3:
                distance = torch.nn.functional.pad(distance, (0, 3 - (end - begin)), value=float("inf"))
            near, place = distance.sort(dim=1, stable=True)
            near, place = near[:, :3], place[:, :3]
            dist2[queries] = near
            idx[queries] = (torch.where(torch.isinf(near), torch.zeros_like(place), place) + begin).to(idx.dtype)


def stack_three_interpolate(features, idx, weight, out):
    out.copy_((features[idx.long()] * weight[..., None]).sum(1))


def stack_three_interpolate_grad(grad_out, idx, weight, grad_features):
    given = grad_out[:, None] * weight[..., None]
    grad_features.index_add_(0, idx.long().reshape(-1), given.reshape(-1, grad_out.shape[1]))
