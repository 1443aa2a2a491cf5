# mypy: ignore-errors
"""Points on rays through a box and what they add up to, as DirectVoxGO has them.

float32 and float64. How many points there are is read from the device once for each call. ``alpha2weight`` and its
gradient hold (rays, points of the longest ray) numbers.
"""

import torch


def infer_t_minmax(rays_o, rays_d, xyz_min, xyz_max, near, far):
    """Where each ray enters the box and leaves it, between ``near`` and ``far``."""
    along = torch.where(rays_d == 0, torch.full_like(rays_d, 1e-6), rays_d)
    one, other = (xyz_max - rays_o) / along, (xyz_min - rays_o) / along
    enters = torch.minimum(one, other).amax(1)
    leaves = torch.maximum(one, other).amin(1)
    return [enters.clamp(max=far).clamp(min=near), leaves.clamp(max=far).clamp(min=near)]


def infer_n_samples(rays_d, t_min, t_max, stepdist):
    """The number of points of each ray, at least one."""
    return ((t_max - t_min) * rays_d.norm(dim=1) / stepdist).ceil().clamp(min=1).long()


def infer_ray_start_dir(rays_o, rays_d, t_min):
    return [rays_o + rays_d * t_min[:, None], rays_d / rays_d.norm(dim=1, keepdim=True)]


def _outside(points, xyz_min, xyz_max):
    return ((points < xyz_min) | (points > xyz_max)).any(-1)


def sample_pts_on_rays(rays_o, rays_d, xyz_min, xyz_max, near, far, stepdist):
    """Points at equal distances: points, those outside, their rays, their turn in it, points of each ray, its range."""
    t_min, t_max = infer_t_minmax(rays_o, rays_d, xyz_min, xyz_max, near, far)
    number = infer_n_samples(rays_d, t_min, t_max, stepdist)
    ends = number.cumsum(0)
    total = int(ends[-1]) if len(ends) else 0
    ray_id = torch.zeros(total, dtype=torch.int64, device=rays_o.device)
    ray_id[ends[:-1]] = 1
    ray_id = ray_id.cumsum(0)
    step_id = torch.arange(total, device=rays_o.device) - (ends - number)[ray_id]
    start, direction = infer_ray_start_dir(rays_o, rays_d, t_min)
    points = start[ray_id] + direction[ray_id] * (step_id.to(rays_o.dtype) * stepdist)[:, None]
    return [points, _outside(points, xyz_min, xyz_max), ray_id, step_id, number, t_min, t_max]


def sample_ndc_pts_on_rays(rays_o, rays_d, xyz_min, xyz_max, N_samples):
    """``N_samples`` points from the start of each ray to its direction's end, and those outside of the box."""
    part = torch.arange(N_samples, device=rays_o.device, dtype=rays_o.dtype) / (N_samples - 1)
    points = rays_o[:, None] + rays_d[:, None] * part[None, :, None]
    return [points, _outside(points, xyz_min, xyz_max)]


def sample_bg_pts_on_rays(rays_o, rays_d, t_max, bg_preserve, N_samples):
    """Points behind the box, drawn into the shell around it."""
    part = torch.arange(N_samples, device=rays_o.device, dtype=rays_o.dtype) / N_samples
    distance = t_max[:, None] - 1 + 1 / (1 - part)
    points = rays_o[:, None] + rays_d[:, None] * distance[..., None]
    length = points.norm(dim=-1)
    ratio = length / points.abs().amax(-1)
    scale = ratio * ratio / (length * length) * (1 - bg_preserve) + ratio / length * bg_preserve
    return points * scale[..., None]


def maskcache_lookup(world, xyz, xyz2ijk_scale, xyz2ijk_shift):
    """The values of a grid at the nearest cells, False outside; halves are rounded away from zero."""
    place = xyz * xyz2ijk_scale + xyz2ijk_shift
    whole = place.trunc()
    whole = whole + torch.where((place - whole).abs() >= 0.5, place.sign(), torch.zeros_like(place))
    size = torch.tensor(world.shape, device=xyz.device, dtype=xyz.dtype)
    inside = ((whole >= 0) & (whole < size)).all(1)
    cell = torch.where(inside[:, None], whole, torch.zeros_like(whole)).long()
    row = (cell[:, 0] * world.shape[1] + cell[:, 1]) * world.shape[2] + cell[:, 2]
    return world.reshape(-1)[row] & inside


def raw2alpha(density, shift, interval):
    """The exponential of each density and the opacity of ``interval`` of it, a number or one for each point."""
    exp_d = (density + shift).exp()
    return [exp_d, 1 - (1 + exp_d) ** -interval]


def raw2alpha_backward(exp, grad_back, interval):
    return exp.clamp(max=1e10) * (1 + exp) ** (-interval - 1) * interval * grad_back


def _by_rays(starts, ends):
    """For (rays, longest): which place of the points each is, and whether there is a point."""
    number = ends - starts
    turn = torch.arange(int(number.max()), device=starts.device)
    there = turn < number[:, None]
    return torch.where(there, starts[:, None] + turn, torch.zeros_like(there, dtype=torch.int64)), there


def alpha2weight(alpha, ray_id, n_rays):
    """The share of each point, what is left before it and behind the ray, where each ray begins and ends.

    A ray ends behind the point that leaves less than a thousandth. ``ray_id`` rises.
    """
    weight, left, last = torch.zeros_like(alpha), torch.ones_like(alpha), alpha.new_ones(n_rays)
    i_end = torch.zeros(n_rays, dtype=torch.int64, device=alpha.device)
    if len(alpha) == 0:
        return [weight, left, last, torch.zeros_like(i_end), i_end]
    number = torch.zeros_like(i_end).index_add_(0, ray_id, torch.ones_like(ray_id))
    i_start = torch.where(number > 0, number.cumsum(0) - number, number)
    place, there = _by_rays(i_start, i_start + number)
    behind = torch.where(there, 1 - alpha[place], torch.ones_like(alpha[place])).cumprod(1)
    before = torch.cat([behind.new_ones(n_rays, 1), behind[:, :-1]], 1)
    seen = there & (before >= 1e-3)
    taken = seen.sum(1)
    last = torch.where(taken > 0, behind.gather(1, (taken - 1).clamp(min=0)[:, None])[:, 0], last)
    points = place[seen]
    left[points] = before[seen]
    weight[points] = before[seen] * alpha[points]
    return [weight, left, last, i_start, i_start + taken]


def alpha2weight_backward(alpha, weight, T, alphainv_last, i_start, i_end, n_rays, grad_weights, grad_last):
    """The gradient of ``alpha`` from those of the shares and of what is left behind the rays."""
    grad = torch.zeros_like(alpha)
    if n_rays == 0 or len(alpha) == 0:
        return grad
    place, there = _by_rays(i_start, i_end)
    given = torch.where(there, (grad_weights * weight)[place], alpha.new_zeros(()))
    later = given.flip(1).cumsum(1).flip(1) - given + (grad_last * alphainv_last)[:, None]
    points = place[there]
    grad[points] = grad_weights[points] * T[points] - later[there] / (1 - alpha[points] + 1e-10)
    return grad


def total_variation_add_grad(param, grad, wx, wy, wz, dense_mode):
    """The gradient of the total variation of (1, channels, i, j, k) is added; it ends at 1 for each neighbour.

    The differences along i have the weight ``wz`` too, as in the kernel.
    """
    added = torch.zeros_like(param)
    for axis, weight in ((4, wz), (3, wy), (2, wz)):
        apart = param.diff(dim=axis).clamp(-1, 1) * (weight / 6)
        added.narrow(axis, 1, apart.shape[axis]).add_(apart)
        added.narrow(axis, 0, apart.shape[axis]).sub_(apart)
    grad += added if dense_mode else torch.where(grad != 0, added, torch.zeros_like(added))
