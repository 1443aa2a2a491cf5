# mypy: ignore-errors
"""Operators on sets of points, as PointNet++ needs them: neighbours, samples, groups, interpolation.

float32, and integers of 32 bits for what are positions in a set, as the kernels have them. ``ball_query`` and
``three_nn`` hold the squared distances of all pairs; up to 2**24 points in a set. ``furthest_point_sampling`` takes one
step for each sample, since each depends on the one before; where points are equally far, the one is taken that the
kernel's threads agree on.
"""

import torch

_FAR = 1e10
"""What is farther than any point, for the first step of sampling."""


def ball_query(new_xyz, xyz, radius, nsample):
    """The first ``nsample`` points nearer than ``radius`` to each centre; the first again, or 0, fill the rest.

    Args:
        new_xyz: (batch, centres, 3).
        xyz: (batch, points, 3).

    Returns:
        (batch, centres, nsample), int32.
    """
    found, _ = _in_ball(new_xyz, xyz, radius, nsample)
    return found


def _in_ball(new_xyz, xyz, radius, nsample):
    points = xyz.shape[1]
    # The square is taken in float32, as the kernel takes it.
    limit = float(torch.tensor(radius, dtype=torch.float32) ** 2)
    order = torch.arange(points, device=xyz.device, dtype=torch.float32)
    order = torch.where(_squared_distances(new_xyz, xyz) < limit, order, torch.full_like(order, points))
    first = order.topk(min(nsample, points), dim=-1, largest=False, sorted=True).values
    if points < nsample:
        first = torch.nn.functional.pad(first, (0, nsample - points), value=points)
    any_there = first[..., :1] < points
    first = torch.where(first < points, first, first[..., :1])
    return torch.where(any_there, first, torch.zeros_like(first)).int(), any_there


def _squared_distances(a, b):
    """(batch, points of a, points of b), without the loss of digits that a product of matrices has."""
    result = None
    for axis in range(a.shape[-1]):
        apart = (a[:, :, None, axis] - b[:, None, :, axis]) ** 2
        result = apart if result is None else result + apart
    return result


def three_nn(unknowns, knows):
    """The squared distances of the three nearest of ``knows`` to each of ``unknowns``, and their places.

    Of points equally near the first counts. Where fewer than three are known, the distance is infinite and the place 0.
    """
    left = _squared_distances(unknowns, knows)
    distances, places = [], []
    for _ in range(3):
        distance, place = left.min(dim=-1, keepdim=True)
        distances.append(distance)
        places.append(torch.where(torch.isinf(distance), torch.zeros_like(place), place))
        left = left.scatter(-1, place, float("inf"))
    return [torch.cat(distances, -1), torch.cat(places, -1).int()]


def furthest_point_sampling(points, nsamples):
    """(batch, points, 3) gives (batch, nsamples), int32. Points at the origin are passed over."""
    far_from_origin = (points**2).sum(-1) > 1e-3
    temp = torch.full(points.shape[:2], _FAR, device=points.device)
    return _furthest(points, temp, nsamples, far_from_origin, most_threads=512)[0]


def _furthest(points, temp, nsamples, counts, most_threads):
    """Samples, and the squared distance of each point to the nearest of them but the last.

    Args:
        points: (batch, points, 3).
        temp: (batch, points), the squared distances to begin with.
        counts: (batch, points), which points may be taken; None for all.
        most_threads: as many as a block of the kernel has at most.
    """
    batch, number, _ = points.shape
    order = _order_of_threads(number, most_threads, points.device)
    points, temp = points[:, order], temp[:, order]
    counts = counts[:, order] if counts is not None else None
    of_batch = torch.arange(batch, device=points.device)
    last = (order == 0).int().argmax().expand(batch)
    taken = [torch.zeros_like(last)]
    for _ in range(1, nsamples):
        distance = _squared_distances(points, points[of_batch, last][:, None])[..., 0]
        nearer = torch.minimum(distance, temp)
        temp = nearer if counts is None else torch.where(counts, nearer, temp)
        candidates = temp if counts is None else torch.where(counts, temp, torch.full_like(temp, -1))
        last = candidates.argmax(dim=-1)
        if counts is not None:
            # Where none counts, the first point is taken.
            last = torch.where(counts.any(-1), last, (order == 0).int().argmax())
        taken.append(order[last])
    back = torch.empty_like(order)
    back[order] = torch.arange(number, device=order.device)
    return torch.stack(taken, -1).int(), temp[:, back]


def _order_of_threads(number, most_threads, device):
    """The points in the order in which the kernel's threads prefer them, where they are equally far.

    Thread ``t`` of ``2**k`` looks at the points ``t``, ``t + 2**k``, …; results are then compared in pairs,
    the upper half with the lower, so that those with a low last bit come first.
    """
    bits = min(max(number, 1).bit_length() - 1, most_threads.bit_length() - 1)
    place = torch.arange(number, device=device)
    thread, turn = place % 2**bits, place // 2**bits
    mirrored = torch.zeros_like(thread)
    for bit in range(bits):
        mirrored = mirrored * 2 + thread // 2**bit % 2
    return (mirrored * (number // 2**bits + 1) + turn).argsort()


def gather_points(points, idx):
    """(batch, channels, points) at (batch, places) gives (batch, channels, places)."""
    return points.gather(2, _along_channels(idx, points))


def gather_points_grad(grad_out, idx, n):
    """The gradient of ``gather_points`` for ``n`` points."""
    return _added(grad_out, idx, n)


def group_points(points, idx):
    """(batch, channels, points) at (batch, groups, members) gives (batch, channels, groups, members)."""
    flat = points.gather(2, _along_channels(idx.flatten(1), points))
    return flat.reshape(*points.shape[:2], *idx.shape[1:])


def group_points_grad(grad_out, idx, n):
    """The gradient of ``group_points`` for ``n`` points."""
    return _added(grad_out.flatten(2), idx.flatten(1), n)


def three_interpolate(points, idx, weight):
    """(batch, channels, known) at the places (batch, points, 3), weighted, gives (batch, channels, points)."""
    return (group_points(points, idx) * weight[:, None]).sum(-1)


def three_interpolate_grad(grad_out, idx, weight, m):
    """The gradient of ``three_interpolate`` for ``m`` known points."""
    return group_points_grad(grad_out[..., None] * weight[:, None], idx, m)


def _along_channels(idx, points):
    return idx.long()[:, None].expand(-1, points.shape[1], -1)


def _added(grad_out, idx, n):
    result = grad_out.new_zeros(*grad_out.shape[:2], n)
    return result.scatter_add(2, _along_channels(idx, grad_out), grad_out)


# --- the same, written into tensors that the caller made ---


def ball_query_into(b, n, m, radius, nsample, new_xyz, xyz, idx):
    """``ball_query``; where no point is near, ``idx`` stays as it was."""
    found, any_there = _in_ball(new_xyz.reshape(b, m, 3), xyz.reshape(b, n, 3), radius, nsample)
    idx.copy_(torch.where(any_there, found, idx.reshape(found.shape)).reshape(idx.shape))
    return 1


def three_nn_into(b, n, m, unknown, known, dist2, idx):
    distances, places = three_nn(unknown.reshape(b, n, 3), known.reshape(b, m, 3))
    dist2.copy_(distances.reshape(dist2.shape))
    idx.copy_(places.reshape(idx.shape))


def furthest_point_sampling_into(b, n, m, points, temp, idx):
    """No point is passed over; ``temp`` begins with the distances that it holds, and is kept up."""
    taken, distances = _furthest(points.reshape(b, n, 3), temp.reshape(b, n), m, None, most_threads=1024)
    temp.copy_(distances.reshape(temp.shape))
    idx.copy_(taken.reshape(idx.shape))
    return 1


def gather_points_into(b, c, n, npoints, points, idx, out):
    out.copy_(gather_points(points.reshape(b, c, n), idx.reshape(b, npoints)).reshape(out.shape))
    return 1


def gather_points_grad_into(b, c, n, npoints, grad_out, idx, grad_points):
    grad_points += gather_points_grad(grad_out.reshape(b, c, npoints), idx.reshape(b, npoints), n).reshape(
        grad_points.shape
    )
    return 1


def group_points_into(b, c, n, npoints, nsample, points, idx, out):
    out.copy_(group_points(points.reshape(b, c, n), idx.reshape(b, npoints, nsample)).reshape(out.shape))
    return 1


def group_points_grad_into(b, c, n, npoints, nsample, grad_out, idx, grad_points):
    shape = (b, c, npoints, nsample)
    grad_points += group_points_grad(grad_out.reshape(shape), idx.reshape(b, npoints, nsample), n).reshape(
        grad_points.shape
    )
    return 1


def three_interpolate_into(b, c, m, n, points, idx, weight, out):
    made = three_interpolate(points.reshape(b, c, m), idx.reshape(b, n, 3), weight.reshape(b, n, 3))
    out.copy_(made.reshape(out.shape))


def three_interpolate_grad_into(b, c, n, m, grad_out, idx, weight, grad_points):
    made = three_interpolate_grad(grad_out.reshape(b, c, n), idx.reshape(b, n, 3), weight.reshape(b, n, 3), m)
    grad_points += made.reshape(grad_points.shape)
