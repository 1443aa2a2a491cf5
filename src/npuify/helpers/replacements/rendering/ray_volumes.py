# mypy: ignore-errors
"""Rays through boxes and spheres, volume rendering along them, and the distortion loss; as ngp_pl has them.

float32 and float64. All rays are held against all boxes, in slices. What is composed along rays holds (rays, samples of
the longest ray) numbers, in slices; the device is asked once how long that is. The exponential is exact where the
kernel takes the fast one.
"""

import torch

_AT_ONCE = 2**24


# --- what rays meet ---


def _first_hits(near, far, hits, max_hits):
    """Of (rays, things) the first ``max_hits`` that are met, from near to far behind those that are none."""
    rank = hits.long().cumsum(1) - 1
    place = torch.where(hits & (rank < max_hits), rank, torch.full_like(rank, max_hits))
    which = torch.arange(near.shape[1], device=near.device).expand_as(place)
    room = (len(near), max_hits + 1)
    index = torch.full(room, -1, dtype=torch.int64, device=near.device).scatter(1, place, which)[:, :max_hits]
    ends = [near.new_full(room, -1).scatter(1, place, one)[:, :max_hits] for one in (near.clamp(min=0), far)]
    order = torch.sort(ends[0], dim=1, stable=True).indices
    return hits.sum(1).int(), torch.stack([one.gather(1, order) for one in ends], -1), index.gather(1, order)


def _of_all(ends, rays_o, rays_d, things, max_hits):
    """``ends`` gives for some rays where they enter and leave each thing, and which are met at all."""
    at_once = max(1, _AT_ONCE // max(1, 3 * things))
    parts = [
        _first_hits(*ends(o, d), max_hits) for o, d in zip(rays_o.split(at_once), rays_d.split(at_once), strict=True)
    ]
    return [torch.cat(one) for one in zip(*parts, strict=True)]


def ray_aabb_intersect(rays_o, rays_d, centers, half_sizes, max_hits):
    """How many boxes each ray meets; where it enters and leaves the first of them, -1 where there is none; which."""

    def ends(o, d):
        back = 1 / d[:, None]
        one, other = ((centers + side * half_sizes - o[:, None]) * back for side in (-1, 1))
        # A ray in a side's own plane: not a number, which the kernel's minimum and maximum pass over.
        one, other = torch.where(one != one, other, one), torch.where(other != other, one, other)
        low = torch.where(one != one, torch.full_like(one, -torch.inf), torch.minimum(one, other)).amax(-1)
        high = torch.where(one != one, torch.full_like(one, torch.inf), torch.maximum(one, other)).amin(-1)
        return low, high, (low <= high) & (high > 0)

    return _of_all(ends, rays_o, rays_d, len(centers), max_hits)


def ray_sphere_intersect(rays_o, rays_d, centers, radii, max_hits):
    """The same for spheres."""

    def ends(o, d):
        apart, a = o[:, None] - centers, (d * d).sum(-1)[:, None]
        half_b, c = (d[:, None] * apart).sum(-1), (apart * apart).sum(-1) - radii * radii
        inside = half_b * half_b - a * c
        root = inside.clamp(min=0).sqrt()
        far = (root - half_b) / a
        return (-half_b - root) / a, far, (inside >= 0) & (far > 0)

    return _of_all(ends, rays_o, rays_d, len(centers), max_hits)


# --- what comes together along them ---


def _slices(rays_a):
    """Some rays at a time: which, the place of each of their samples, and which samples there are."""
    longest = int(rays_a[:, 2].max()) if len(rays_a) else 0
    for part in rays_a.split(max(1, _AT_ONCE // max(1, longest))):
        step = torch.arange(longest, device=rays_a.device)
        there = step < part[:, 2:]
        yield part[:, 0], torch.where(there, part[:, 1:2] + step, torch.zeros_like(step)), there


def _put(into, place, values, there):
    """Values of (rays, samples, ...) are written to their places; shapes do not depend on which there are."""
    rows = len(into)
    place = torch.where(there, place, torch.full_like(place, rows)).reshape(-1)
    longer = torch.cat([into, torch.zeros_like(into[:1])]) if rows else into
    if len(place):
        longer = longer.index_copy(0, place, values.reshape(-1, *into.shape[1:]))
    into.copy_(longer[:rows])


def _shares(sigmas, deltas, there, light, threshold):
    """The share of each of (rays, samples), what is left behind it, and which count: until too little is left."""
    alpha = torch.where(there, 1 - torch.exp(-sigmas * deltas), torch.zeros_like(deltas))
    left = light[:, None] * (1 - alpha).cumprod(1)
    before = torch.cat([light[:, None], left[:, :-1]], 1)
    counts = there & torch.cat([torch.ones_like(there[:, :1]), left[:, :-1] > threshold], 1)
    return torch.where(counts, alpha * before, torch.zeros_like(alpha)), left, counts


def composite_train_fw(sigmas, rgbs, deltas, ts, rays_a, opacity_threshold):
    """How many samples of each ray leave enough, its opacity, depth and colour, and the share of each sample."""
    rays = len(rays_a)
    opacity, depth, ws = (sigmas.new_zeros(number) for number in (rays, rays, len(sigmas)))
    rgb, total = sigmas.new_zeros(rays, 3), torch.zeros(rays, dtype=torch.int64, device=sigmas.device)
    for ray, place, there in _slices(rays_a):
        light = sigmas.new_ones(len(ray))
        share, left, counts = _shares(sigmas[place], deltas[place], there, light, opacity_threshold)
        opacity[ray], depth[ray] = share.sum(1), (share * ts[place]).sum(1)
        rgb[ray] = (share[..., None] * rgbs[place]).sum(1)
        total[ray] = (counts & (left > opacity_threshold)).sum(1)
        _put(ws, place, share, there)
    return [total, opacity, depth, rgb, ws]


def composite_train_bw(
    dL_dopacity, dL_ddepth, dL_drgb, dL_dws, sigmas, rgbs, ws, deltas, ts, rays_a, opacity, depth, rgb,
    opacity_threshold,
):  # fmt: skip
    """The gradients of densities and colours; 0 for samples that do not count."""
    of_sigmas, of_rgbs, pulls = torch.zeros_like(sigmas), torch.zeros_like(rgbs), dL_dws * ws
    for ray, place, there in _slices(rays_a):
        light = sigmas.new_ones(len(ray))
        share, left, counts = _shares(sigmas[place], deltas[place], there, light, opacity_threshold)
        colour, t, grad = rgbs[place], ts[place], dL_drgb[ray][:, None]
        rest = rgb[ray][:, None] - (share[..., None] * colour).cumsum(1)
        behind = depth[ray][:, None] - (share * t).cumsum(1)
        pull = torch.where(there, pulls[place], torch.zeros_like(share))
        of_share = left * dL_dws[place] - (pull.sum(1, keepdim=True) - pull.cumsum(1))
        of_colour = (grad * (left[..., None] * colour - rest)).sum(-1)
        of_depth = dL_ddepth[ray][:, None] * (left * t - behind)
        of_sum = (dL_dopacity[ray] * (1 - opacity[ray]))[:, None]
        _put(of_sigmas, place, deltas[place] * (of_colour + of_sum + of_depth + of_share), counts)
        _put(of_rgbs, place, grad * share[..., None], counts)
    return [of_sigmas, of_rgbs]


def composite_test_fw(sigmas, rgbs, deltas, ts, hits_t, alive_indices, T_threshold, N_eff_samples, opacity, depth, rgb):
    """The next samples are added to what has come together; rays that end are marked by -1."""
    ray = alive_indices.clone()
    there = torch.arange(sigmas.shape[1], device=sigmas.device) < N_eff_samples[:, None]
    share, left, counts = _shares(sigmas, deltas, there, 1 - opacity[ray], T_threshold)
    rgb[ray] = rgb[ray] + (share[..., None] * rgbs).sum(1)
    depth[ray] = depth[ray] + (share * ts).sum(1)
    opacity[ray] = opacity[ray] + share.sum(1)
    ends = (N_eff_samples == 0) | (counts & (left <= T_threshold)).any(1)
    alive_indices.copy_(torch.where(ends, torch.full_like(ray, -1), ray))


# --- how far apart their shares lie ---


def distortion_loss_fw(ws, deltas, ts, rays_a):
    """For each ray the sum of ws[i] * ws[j] * |ts[i] - ts[j]| and of ws**2 * deltas / 3; the sums of ws and ws * ts."""
    loss, sums, moments = ws.new_zeros(len(rays_a)), torch.zeros_like(ws), torch.zeros_like(ws)
    for ray, place, there in _slices(rays_a):
        w = torch.where(there, ws[place], torch.zeros_like(ws[:1]))
        moment = w * ts[place]
        ends, end_moments = w.cumsum(1), moment.cumsum(1)
        apart = 2 * (end_moments * (ends - w) - ends * (end_moments - moment)) + w * w * deltas[place] / 3
        loss[ray] = apart.sum(1)
        _put(sums, place, ends, there)
        _put(moments, place, end_moments, there)
    return [loss, sums, moments]


def distortion_loss_bw(dL_dloss, ws_inclusive_scan, wts_inclusive_scan, ws, deltas, ts, rays_a):
    """The gradient of ``ws``."""
    found = torch.zeros_like(ws)
    for ray, place, there in _slices(rays_a):
        w = torch.where(there, ws[place], torch.zeros_like(ws[:1]))
        t, ends, moments = ts[place], ws_inclusive_scan[place], wts_inclusive_scan[place]
        total, moment = w.sum(1, keepdim=True), (w * t).sum(1, keepdim=True)
        before = t * (ends - w) - (moments - w * t)
        behind = moment - moments - t * (total - ends)
        made = dL_dloss[ray][:, None] * (2 * (before + behind) + 2 * w * deltas[place] / 3)
        _put(found, place, made, there)
    return found
