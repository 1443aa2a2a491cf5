# mypy: ignore-errors
"""Ray marching through a grid of occupied cells, as torch-ngp and ngp_pl have it, and torch-ngp's compositing.

float32. Rays are marched in windows of 64 steps, all rays at once: a window computes where a ray would look at each of
its steps, and follows the jumps over empty cells by doubling. The host is asked once for each window whether a ray goes
on. Points are written ray by ray in the order of the rays, where the kernel's order depends on its threads. Compositing
for training holds (rays, longest ray) numbers, in slices. The exponential is exact where the kernel takes the fast one.
"""

import math

import torch

_WINDOW = 64
_AT_ONCE = 2**24
_LARGEST = 3.4028234663852886e38
_SQRT3 = 1.7320508075688772


# --- rays and codes ---


def near_far_from_aabb(rays_o, rays_d, aabb, N, min_near, nears, fars):
    """Where each ray enters and leaves a box; the largest float where it passes by. Written into the last two."""
    apart = torch.stack([aabb[:3] - rays_o, aabb[3:] - rays_o]) * (1 / rays_d)
    low, high = torch.where(apart[0] > apart[1], apart.flip(0), apart).unbind(0)
    near, far = low[:, 0], high[:, 0]
    passes = torch.zeros_like(near, dtype=torch.bool)
    for axis in (1, 2):
        passes = passes | (near > high[:, axis]) | (low[:, axis] > far)
        near = torch.where(low[:, axis] > near, low[:, axis], near)
        far = torch.where(high[:, axis] < far, high[:, axis], far)
    near = torch.where(near < min_near, torch.full_like(near, min_near), near)
    largest = torch.full_like(near, min(torch.finfo(nears.dtype).max, _LARGEST))
    nears.copy_(torch.where(passes, largest, near))
    fars.copy_(torch.where(passes, largest, far))


def sph_from_ray(rays_o, rays_d, radius, N, coords):
    """Where each ray leaves a sphere around the origin, as two angles in [-1, 1]; written into ``coords``."""
    a, b = (rays_d * rays_d).sum(-1), (rays_o * rays_d).sum(-1)
    c = (rays_o * rays_o).sum(-1) - radius * radius
    x, y, z = (rays_o + ((-b + (b * b - a * c).sqrt()) / a)[:, None] * rays_d).unbind(-1)
    theta = torch.atan2((x * x + z * z).sqrt(), y)
    coords.copy_(torch.stack([2 * theta / math.pi - 1, torch.atan2(z, x) / math.pi], -1))


def _spread(v):
    for factor, mask in ((0x10001, 0xFF0000FF), (0x101, 0x0F00F00F), (0x11, 0xC30C30C3), (0x5, 0x49249249)):
        v = (v * factor) & mask
    return v


def _code(x, y, z):
    """The bits of three numbers below 1024, one of each in turn."""
    return _spread(x) | _spread(y) << 1 | _spread(z) << 2


def morton3d(coords, N, indices):
    indices.copy_(_code(*coords.long().unbind(-1)))


def _gathered(v):
    v = v & 0x49249249
    for shift, mask in ((2, 0xC30C30C3), (4, 0x0F00F00F), (8, 0xFF0000FF), (16, 0x0000FFFF)):
        v = (v | v >> shift) & mask
    return v


def morton3d_invert(indices, N, coords):
    coords.copy_(torch.stack([_gathered(indices.long() >> axis) for axis in range(3)], -1))


def morton3d_returned(coords):
    return _code(*coords.long().unbind(-1)).to(coords.dtype)


def morton3d_invert_returned(indices):
    return torch.stack([_gathered(indices.long() >> axis) for axis in range(3)], -1).to(indices.dtype)


def packbits(grid, N, density_thresh, bitfield):
    """One bit for each cell whose density is above a threshold, the first in the lowest place."""
    above = (grid.reshape(-1)[: N * 8].reshape(N, 8) > density_thresh).int()
    powers = 2 ** torch.arange(8, device=grid.device, dtype=torch.int32)
    bitfield.reshape(-1)[:N].copy_((above * powers).sum(-1))


def packbits_of_all(density_grid, density_threshold, density_bitfield):
    packbits(density_grid, len(density_bitfield), density_threshold, density_bitfield)


# --- marching ---


class _March:
    """Rays on their way: ``t`` where each is, ``wait`` until where it jumps, ``taken`` how many points it has."""

    def __init__(self, rays_o, rays_d, grid, bound, dt_gamma, max_steps, C, H, nears, fars, start, noises):
        self.o, self.d, self.far = rays_o, rays_d, fars
        self.grid, self.bound, self.dt_gamma, self.C, self.H = grid.reshape(-1), bound, dt_gamma, C, H
        # Rounded as the kernel rounds them: a step is added many times.
        diagonal = torch.tensor(2 * _SQRT3, dtype=torch.float32)
        self.least, self.most = float(diagonal / max_steps), float(diagonal * 2 ** (C - 1) / H)
        self.t = start + self.step_at(start) * noises
        self.last = self.t
        self.wait = torch.full_like(self.t, -_LARGEST)
        self.taken = torch.zeros_like(self.t, dtype=torch.long)

    def step_at(self, t):
        # Not clamp(min, max): where the least is above the most, the most counts in both; torch takes it so, too.
        return (t * self.dt_gamma).clamp(min=self.least).clamp(max=self.most)

    def window(self, limit):
        """The next steps of all rays: where each looks, how wide it is, which of them are points, and their number."""
        times = [self.t]
        for _ in range(_WINDOW):
            times.append(times[-1] + self.step_at(times[-1]))
        after = times.pop()
        t = torch.stack(times, 1)
        width = self.step_at(t)
        occupied, until = self._looked(t, width)
        inside = t < self.far[:, None]
        looked = self._visited(t, occupied, until)
        point = looked & occupied & inside
        rank = self.taken[:, None] + point.long().cumsum(1)
        point = point & (rank <= limit)
        end = t + width
        behind = torch.where(point, end, torch.full_like(end, -_LARGEST)).cummax(1).values
        behind = torch.maximum(self.last[:, None], behind)
        before = torch.cat([self.last[:, None], behind[:, :-1]], 1)
        self.last, self.t = behind[:, -1], after
        self.taken = self.taken + point.sum(1)
        jumps = torch.where(looked & ~occupied, until, torch.full_like(until, -_LARGEST))
        self.wait = torch.maximum(self.wait, jumps.amax(1))
        return t, width, end - before, point, rank - 1

    def goes_on(self, limit):
        return bool(((self.t < self.far) & (self.taken < limit)).any())

    def at(self, t):
        """Where rays are at (rays, steps), kept inside the bound."""
        return (self.o[:, None] + t[..., None] * self.d[:, None]).clamp(-self.bound, self.bound)

    def _looked(self, t, width):
        """Whether the cell at each step is occupied, and where its ray leaves it."""
        xyz = self.at(t)
        level, half = self._cascade(xyz.abs().amax(-1), width * self.H)
        cell = (0.5 * (xyz * (1 / half) + 1) * self.H).clamp(0, self.H - 1).floor()
        index = level.long() * self.H**3 + _code(*cell.long().unbind(-1))
        occupied = (self.grid[index // 8].int() >> (index % 8).int()) & 1 > 0
        way = torch.where(torch.signbit(self.d), -torch.ones_like(self.d), torch.ones_like(self.d))[:, None]
        apart = (((cell + 0.5 + 0.5 * way) * (1 / self.H) * 2 - 1) * half - xyz) * (1 / self.d)[:, None]
        # A ray along an axis never leaves across the others: not a number, which the kernel's minimum passes over.
        apart = torch.where(torch.isnan(apart), torch.full_like(apart, math.inf), apart)
        return occupied, t + apart.amin(-1).clamp(min=0)

    def _cascade(self, apart, cells):
        """Which grid a place is looked up in, by how far it is from the middle and how wide its step; half its size."""
        level = torch.maximum(self._level(apart), self._level(cells * 0.5))
        return level, torch.exp2(level).clamp(max=self.bound)[..., None]

    def _level(self, x):
        exponent = torch.floor(torch.log2(x.clamp(min=1e-30))) + 1
        # log2 may be rounded over a power of two.
        exponent = torch.where(torch.exp2(exponent) <= x, exponent + 1, exponent)
        exponent = torch.where(torch.exp2(exponent - 1) > x, exponent - 1, exponent)
        return exponent.clamp(0, self.C - 1)

    def _visited(self, t, occupied, until):
        """Which steps a ray looks at: the next one after an occupied cell, that behind the cell after an empty one."""
        places = torch.arange(_WINDOW, device=t.device)
        behind = torch.searchsorted(t.contiguous(), until.contiguous())
        follows = torch.where(occupied, places + 1, torch.maximum(places + 1, behind)).clamp(max=_WINDOW)
        end = torch.full_like(follows[:, :1], _WINDOW)
        follows = torch.cat([follows, end], 1)
        first = torch.searchsorted(t.contiguous(), self.wait[:, None].contiguous())
        seen = torch.zeros_like(follows, dtype=torch.int32).scatter(1, first, 1)
        for _ in range(_WINDOW.bit_length()):
            reached = torch.zeros_like(seen).scatter_reduce(1, follows, seen, "amax", include_self=True)
            seen = torch.maximum(seen, reached)
            follows = follows.gather(1, follows)
        return seen[:, :_WINDOW] > 0


def _put(into, place, values, there):
    """Rows are written where ``there`` says so; the shape of what is written does not depend on it."""
    width = math.prod(into.shape[1:])
    rows = len(into)
    place = torch.where(there, place, torch.full_like(place, rows)).reshape(-1)
    longer = torch.cat([into.reshape(rows, width), into.new_zeros(1, width)])
    longer = longer.index_copy(0, place, values.reshape(-1, width).to(into.dtype)) if len(place) else longer
    into.copy_(longer[:rows].reshape(into.shape))


def march_rays_train(
    rays_o, rays_d, grid, bound, dt_gamma, max_steps, N, C, H, M, nears, fars, xyzs, dirs, deltas, rays, counter, noises
):
    """The points of all rays in occupied cells, written one ray after the other; which are whose, into ``rays``."""
    march = _March(rays_o, rays_d, grid, bound, dt_gamma, max_steps, C, H, nears, fars, nears, noises)
    windows = []
    while march.goes_on(max_steps):
        windows.append(march.window(max_steps))
    begins = counter[0].long() + march.taken.cumsum(0) - march.taken
    order = counter[1].long() + torch.arange(N, device=rays_o.device)
    rows = torch.stack([torch.arange(N, device=rays_o.device), begins, march.taken], 1)
    _put(rays, order, rows, order < len(rays))
    fits = (begins + march.taken <= M)[:, None]
    for t, width, apart, point, rank in windows:
        place, there = begins[:, None] + rank, point & fits
        _put(xyzs, place, march.at(t), there)
        _put(dirs, place, rays_d[:, None].expand(-1, t.shape[1], -1), there)
        _put(deltas, place, torch.stack([width, apart], -1), there)
    counter += torch.stack([march.taken.sum(), torch.full_like(march.taken[:1].sum(), N)]).to(counter.dtype)


def march_rays(
    n_alive, n_step, rays_alive, rays_t, rays_o, rays_d, bound, dt_gamma, max_steps, C, H, grid, near, far, xyzs, dirs,
    deltas, noises,
):  # fmt: skip
    """The next ``n_step`` points of the rays that are alive, from ``rays_t`` on."""
    ray = rays_alive[:n_alive].long()
    march = _March(
        rays_o[ray], rays_d[ray], grid, bound, dt_gamma, max_steps, C, H, near[ray], far[ray], rays_t[ray],
        noises[:n_alive],
    )  # fmt: skip
    first = torch.arange(n_alive, device=rays_o.device)[:, None] * n_step
    while march.goes_on(n_step):
        t, width, apart, point, rank = march.window(n_step)
        _put(xyzs, first + rank, march.at(t), point)
        _put(dirs, first + rank, march.d[:, None].expand(-1, t.shape[1], -1), point)
        _put(deltas, first + rank, torch.stack([width, apart], -1), point)


class _MarchToHits(_March):
    """As in ngp_pl: the first grid has half the size, and places behind the bound are looked up at its border."""

    def __init__(self, rays_o, rays_d, hits, grid, scale, widest, exp_step_factor, C, H, max_samples):
        self.o, self.d, self.far = rays_o, rays_d, hits[:, 1]
        self.grid, self.bound, self.dt_gamma, self.C, self.H = grid.reshape(-1), scale, exp_step_factor, C, H
        root = torch.tensor(_SQRT3, dtype=torch.float32)
        self.least, self.most = float(root / max_samples), float(root * 2 * widest / H)
        self.t = self.last = hits[:, 0]
        self.wait = torch.full_like(self.t, -_LARGEST)
        self.taken = torch.zeros_like(self.t, dtype=torch.long)

    def step_at(self, t):
        # Where the least is above the most, here the least counts.
        return (t * self.dt_gamma).clamp(max=self.most).clamp(min=self.least)

    def at(self, t):
        return self.o[:, None] + t[..., None] * self.d[:, None]

    def _cascade(self, apart, cells):
        # The kernel's frexp gives 0 for the middle itself, as for one half.
        outer = self._level(torch.where(apart == 0, torch.full_like(apart, 0.5), apart) * 2)
        level = torch.maximum(outer, self._level(cells))
        return level, torch.exp2(level - 1).clamp(max=self.bound)[..., None]


def raymarching_train(
    rays_o, rays_d, hits_t, density_bitfield, cascades, scale, exp_step_factor, noise, grid_size, max_samples
):
    """Which points are whose, the points in occupied cells, their directions, steps, times; how many there are."""
    march = _MarchToHits(
        rays_o, rays_d, hits_t, density_bitfield, scale, scale, exp_step_factor, cascades, grid_size, max_samples
    )
    hits = march.t >= 0
    march.t = march.t + march.step_at(march.t) * noise
    march.far = torch.where(hits, march.far, torch.full_like(march.far, -_LARGEST))
    windows = []
    while march.goes_on(max_samples):
        windows.append(march.window(max_samples))
    begins, total, rays = march.taken.cumsum(0) - march.taken, int(march.taken.sum()), len(rays_o)
    rays_a = torch.stack([torch.arange(rays, device=rays_o.device), begins, march.taken], 1)
    xyzs, dirs, deltas, ts = (rays_o.new_zeros(total, *shape) for shape in ((3,), (3,), (), ()))
    for t, width, _, point, rank in windows:
        place = begins[:, None] + rank
        _put(xyzs, place, march.at(t), point)
        _put(dirs, place, rays_d[:, None].expand(-1, t.shape[1], -1), point)
        _put(deltas, place, width, point)
        _put(ts, place, t, point)
    return [rays_a, xyzs, dirs, deltas, ts, torch.tensor([total, rays], dtype=torch.int32, device=rays_o.device)]


def raymarching_test(
    rays_o, rays_d, hits_t, alive_indices, density_bitfield, cascades, scale, exp_step_factor, grid_size, max_samples,
    N_samples,
):  # fmt: skip
    """The next points of the rays that are alive, and how many; where a ray goes on is written into ``hits_t``."""
    ray = alive_indices
    march = _MarchToHits(
        rays_o[ray], rays_d[ray], hits_t[ray], density_bitfield, scale, cascades, exp_step_factor, cascades, grid_size,
        max_samples,
    )  # fmt: skip
    xyzs, dirs, deltas, ts = (rays_o.new_zeros(len(ray) * N_samples, *shape) for shape in ((3,), (3,), (), ()))
    first = torch.arange(len(ray), device=rays_o.device)[:, None] * N_samples
    while march.goes_on(N_samples):
        t, width, _, point, rank = march.window(N_samples)
        _put(xyzs, first + rank, march.at(t), point)
        _put(dirs, first + rank, march.d[:, None].expand(-1, t.shape[1], -1), point)
        _put(deltas, first + rank, width, point)
        _put(ts, first + rank, t, point)
    hits_t[ray, 0] = march.last
    shaped = [one.reshape(len(ray), N_samples, *one.shape[1:]) for one in (xyzs, dirs, deltas, ts)]
    return [*shaped, march.taken.int()]


# --- compositing ---


def _slices(rays, M):
    """Some rays at a time: which, the place of each of their samples, and which samples there are."""
    longest = int(rays[:, 2].max()) if len(rays) else 0
    for part in rays.long().split(max(1, _AT_ONCE // max(1, longest))):
        step = torch.arange(longest, device=rays.device)
        fits = part[:, 1] + part[:, 2] <= M
        there = (step < part[:, 2:]) & fits[:, None]
        yield part[:, 0], torch.where(there, part[:, 1:2] + step, torch.zeros_like(step)), there, fits


def _weights(sigmas, deltas, place, there, T_thresh):
    """The weight of each sample, the light left behind it, and which samples count: until too little is left."""
    density = torch.where(there, sigmas[place] * deltas[place, 0], torch.zeros_like(sigmas[:1]))
    alpha = 1 - torch.exp(-density)
    left = (1 - alpha).cumprod(1)
    before = torch.cat([torch.ones_like(left[:, :1]), left[:, :-1]], 1)
    first = torch.zeros_like(there)
    first[:, :1] = True
    counts = there & (first | (before >= T_thresh))
    return torch.where(counts, alpha * before, torch.zeros_like(alpha)), left, counts


def composite_rays_train_forward(sigmas, rgbs, deltas, rays, M, N, T_thresh, weights_sum, depth, image):
    """The weights, depths and colours that come together along each ray; written into the last three."""
    sigmas = sigmas.reshape(-1)
    for ray, place, there, _ in _slices(rays[:N], M):
        weight, _, _ = _weights(sigmas, deltas, place, there, T_thresh)
        t = torch.where(there, deltas[place, 1], torch.zeros_like(weight)).cumsum(1)
        weights_sum[ray] = weight.sum(1)
        depth[ray] = (weight * t).sum(1)
        image[ray] = (weight[..., None] * rgbs[place]).sum(1)


def composite_rays_train_backward(
    grad_weights_sum, grad_image, sigmas, rgbs, deltas, rays, weights_sum, image, M, N, T_thresh, grad_sigmas, grad_rgbs
):
    """The gradients of densities and colours; samples that do not count keep what is there. Depth has none."""
    flat = sigmas.reshape(-1)
    for ray, place, there, _ in _slices(rays[:N], M):
        weight, left, counts = _weights(flat, deltas, place, there, T_thresh)
        colour, grad = rgbs[place], grad_image[ray][:, None]
        rest = image[ray][:, None] - (weight[..., None] * colour).cumsum(1)
        of_colour = (grad * (left[..., None] * colour - rest)).sum(-1)
        of_sum = (grad_weights_sum[ray] * (1 - weights_sum[ray]))[:, None]
        _put(grad_sigmas.reshape(-1, 1), place, deltas[place, 0] * (of_colour + of_sum), counts)
        _put(grad_rgbs, place, grad * weight[..., None], counts)


def composite_rays(n_alive, n_step, T_thresh, rays_alive, rays_t, sigmas, rgbs, deltas, weights, depth, image):
    """The next samples are added to what has come together; rays that end are marked by -1."""
    ray = rays_alive[:n_alive].long()
    sigmas, deltas = sigmas.reshape(-1)[: n_alive * n_step].reshape(n_alive, n_step), deltas.reshape(-1, 2)
    deltas, rgbs = deltas[: n_alive * n_step].reshape(n_alive, n_step, 2), rgbs.reshape(-1, 3)
    rgbs = rgbs[: n_alive * n_step].reshape(n_alive, n_step, 3)
    total, t, far, colour = weights[ray], rays_t[ray], depth[ray], image[ray]
    goes_on = torch.ones_like(ray, dtype=torch.bool)
    for step in range(n_step):
        goes_on = goes_on & (deltas[:, step, 0] != 0)
        left = 1 - total
        weight = (1 - torch.exp(-sigmas[:, step] * deltas[:, step, 0])) * left
        weight = torch.where(goes_on, weight, torch.zeros_like(weight))
        t = torch.where(goes_on, t + deltas[:, step, 1], t)
        total, far = total + weight, far + weight * t
        colour = colour + weight[:, None] * rgbs[:, step]
        goes_on = goes_on & (left >= T_thresh)
    rays_alive[:n_alive] = torch.where(goes_on, rays_alive[:n_alive], torch.full_like(rays_alive[:n_alive], -1))
    rays_t[ray] = torch.where(goes_on, t, rays_t[ray])
    weights[ray], depth[ray], image[ray] = total, far, colour
