# mypy: ignore-errors
"""Encoders of radiance fields: spherical harmonics, frequencies, and grids with hashes; as torch-ngp has them.

Everything is computed for all points at once; the grid encoder takes one step for each level and corner of a cell, and
reads the begins of the levels from the device once. Where the scale of a level is a whole number but for rounding,
CUDA's exp2f may round it to the other side: that level then has one place more or less.
"""

import math

import torch

# --- spherical harmonics ---


def sh_encode_forward(inputs, outputs, B, D, C, dy_dx):
    """The real harmonics below degree ``C`` of (B, 3), as polynomials, into (B, C * C); derivatives into ``dy_dx``."""
    x, y, z = inputs[:, :3].unbind(-1)
    cosines, sines = [torch.ones_like(x)], [torch.zeros_like(x)]  # of (x + iy) ** m
    for _ in range(1, C):
        cosines, sines = (
            [*cosines, x * cosines[-1] - y * sines[-1]],
            [*sines, x * sines[-1] + y * cosines[-1]],
        )
    legendre = _legendre(z, C)
    zero = torch.zeros_like(x)
    values, slopes = [], []
    for degree in range(C):
        for order in range(-degree, degree + 1):
            m = abs(order)
            ring, other = (sines, cosines) if order < 0 else (cosines, sines)
            scale = _scale(degree, m)
            of_z = legendre[degree][m] * scale
            values.append(of_z * ring[m])
            if dy_dx is not None:
                lower = (m * ring[m - 1], m * other[m - 1]) if m else (zero, zero)
                along_y = lower[1] if order < 0 else -lower[1]
                above = -legendre[degree][m + 1] * scale if m < degree else zero
                slopes.append(torch.stack([of_z * lower[0], of_z * along_y, above * ring[m]], -1))
    outputs.copy_(torch.stack(values, -1))
    if dy_dx is not None:
        dy_dx.copy_(torch.stack(slopes, -1).reshape(dy_dx.shape))


def _legendre(z, degrees):
    """The associated Legendre polynomials without their power of the sine, by degree and order."""
    table = [[None] * degrees for _ in range(degrees)]
    for m in range(degrees):
        table[m][m] = torch.full_like(z, (-1) ** m * math.prod(range(1, 2 * m, 2)))
        if m + 1 < degrees:
            table[m + 1][m] = z * (2 * m + 1) * table[m][m]
        for n in range(m + 2, degrees):
            table[n][m] = ((2 * n - 1) * z * table[n - 1][m] - (n + m - 1) * table[n - 2][m]) / (n - m)
    return table


def _scale(degree, m):
    share = math.factorial(degree - m) / math.factorial(degree + m)
    return math.sqrt((2 * degree + 1) / (4 * math.pi) * share * (2 if m else 1))


def sh_encode_backward(grad, inputs, B, D, C, dy_dx, grad_inputs):
    """The gradient is added to ``grad_inputs``."""
    grad_inputs += (grad[:, None] * dy_dx.reshape(B, D, C * C)).sum(-1)


# --- frequencies ---


def freq_encode_forward(inputs, B, D, deg, C, outputs):
    """(B, D), then for each octave its sine and cosine, into (B, C)."""
    powers = 2.0 ** torch.arange(deg, device=inputs.device, dtype=inputs.dtype)
    angles = inputs[:, None] * powers[:, None]
    waves = torch.stack([angles.sin(), angles.cos()], 2)
    outputs.copy_(torch.cat([inputs, waves.reshape(B, deg * 2 * D)], 1))


def freq_encode_backward(grad, outputs, B, D, deg, C, grad_inputs):
    """The gradient of the inputs, written into ``grad_inputs``."""
    powers = 2.0 ** torch.arange(deg, device=grad.device, dtype=grad.dtype)
    waves, of_waves = (one[:, D:].reshape(B, deg, 2, D) for one in (outputs, grad))
    moved = of_waves[:, :, 0] * waves[:, :, 1] - of_waves[:, :, 1] * waves[:, :, 0]
    grad_inputs.copy_(grad[:, :D] + (moved * powers[:, None]).sum(1))


# --- grids ---

_PRIMES = (1, 2654435761, 805459861, 3674653429, 2097192037)


def _cells(inputs, level, S, H, align_corners, interp):
    """For one level: its scale and resolution, the lower corner of each point's cell, the place in it, its slope."""
    one = torch.tensor(1.0)
    scale = float(torch.exp2(one * level * S) * H - 1)
    resolution = math.ceil(scale) + 1
    place = inputs * scale + (0.0 if align_corners else 0.5)
    corner = place.floor()
    place = place - corner
    slope = torch.ones_like(place)
    if interp == 1:
        slope, place = 6 * place * (1 - place), place * place * (3 - 2 * place)
    return scale, resolution, corner.long(), place, slope


def _index(corner, gridtype, align_corners, size, resolution):
    """The row of the table that belongs to each corner of (points, D)."""
    stride, index = 1, torch.zeros_like(corner[:, 0])
    for axis in range(corner.shape[1]):
        if stride > size:
            break
        index = index + corner[:, axis] * stride
        stride *= resolution if align_corners else resolution + 1
    if gridtype == 0 and stride > size:
        index = torch.zeros_like(index)
        for axis in range(corner.shape[1]):
            index = index ^ (corner[:, axis] * _PRIMES[axis] % 2**32)
    return index % 2**32 % size


def _corners(dimensions):
    """Each corner of a cell: for each axis, whether it is the upper one."""
    return [[number >> axis & 1 for axis in range(dimensions)] for number in range(2**dimensions)]


def _inside(inputs):
    return ((inputs >= 0) & (inputs <= 1)).all(-1, keepdim=True)


def grid_encode_forward(inputs, embeddings, offsets, outputs, B, D, C, L, S, H, dy_dx, gridtype, align_corners, interp):
    """The interpolated rows of ``embeddings`` for (B, D) in the unit cube, into (L, B, C); slopes into ``dy_dx``."""
    begins = offsets.tolist()
    inside = _inside(inputs)
    safe = torch.where(inside, inputs, torch.zeros_like(inputs))
    slopes = []
    for level in range(L):
        table = embeddings[begins[level] : begins[level + 1]].float()
        scale, resolution, corner, place, slope = _cells(safe, level, S, H, align_corners, interp)
        result = torch.zeros(B, C, device=inputs.device)
        along = [torch.zeros_like(result) for _ in range(D)]
        for upper in _corners(D):
            at = corner + torch.tensor(upper, device=corner.device)
            seen = table[_index(at, gridtype, align_corners, len(table), resolution)]
            shares = [place[:, axis] if upper[axis] else 1 - place[:, axis] for axis in range(D)]
            result = result + math.prod(shares)[:, None] * seen
            if dy_dx is not None:
                for axis in range(D):
                    others = math.prod(shares[:axis] + shares[axis + 1 :]) * scale * slope[:, axis]
                    along[axis] = along[axis] + (others if upper[axis] else -others)[:, None] * seen
        outputs[level].copy_(torch.where(inside, result, torch.zeros_like(result)))
        slopes.append(torch.stack(along, 1))
    if dy_dx is not None:
        made = torch.stack(slopes, 1) * inside[:, None, None]
        dy_dx.copy_(made.reshape(dy_dx.shape))


def grid_encode_backward(
    grad, inputs, embeddings, offsets, grad_embeddings, B, D, C, L, S, H, dy_dx, grad_inputs, gridtype, align_corners,
    interp,
):  # fmt: skip
    """The gradient of the tables is added to ``grad_embeddings``, that of the points written into ``grad_inputs``."""
    begins = offsets.tolist()
    inside = _inside(inputs)
    safe = torch.where(inside, inputs, torch.zeros_like(inputs))
    for level in range(L):
        size = begins[level + 1] - begins[level]
        _, resolution, corner, place, _ = _cells(safe, level, S, H, align_corners, interp)
        for upper in _corners(D):
            at = corner + torch.tensor(upper, device=corner.device)
            row = _index(at, gridtype, align_corners, size, resolution) + begins[level]
            share = math.prod(place[:, axis] if upper[axis] else 1 - place[:, axis] for axis in range(D))
            given = torch.where(inside, share[:, None] * grad[level], torch.zeros_like(grad[level]))
            grad_embeddings.index_add_(0, row, given.to(grad_embeddings.dtype))
    if dy_dx is not None:
        slopes = dy_dx.reshape(B, L, D, C)
        grad_inputs.copy_((grad.permute(1, 0, 2)[:, :, None] * slopes).sum((1, 3)))
