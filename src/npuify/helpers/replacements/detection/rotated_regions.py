# mypy: ignore-errors
"""Region align of turned regions (batch, x, y, width, height, angle), forward and backward.

The corners of all sample points are gathered, of some regions at once: (points, 4, channels) numbers, at most 2**24.
Without a number of samples the largest region decides how many are computed for each, and the device is asked for it.
float16, bfloat16, float32 and float64; there is no gradient for regions, as in the kernels.
"""

import math

import torch

_AT_ONCE = 2**24
_DEGREE = math.pi / 180


def _samples(rois, scale, high, wide, number, offset, least, turn):
    """Where the samples of regions lie: y and x as (regions, high, wide, rows, columns), and what each counts."""
    x, y, width, height = (rois[:, place] * scale for place in (1, 2, 3, 4))
    x, y = x - offset, y - offset
    if least:
        width, height = width.clamp(min=least), height.clamp(min=least)
    bin_high, bin_wide = height / high, width / wide
    if number > 0:
        rows = torch.full_like(width, number)
        columns = rows
    else:
        rows, columns = torch.ceil(bin_high).clamp(min=0), torch.ceil(bin_wide).clamp(min=0)
    most = [number, number] if number > 0 else torch.stack([rows.amax(), columns.amax()]).long().tolist()

    def along(size, bins, count, per_bin, most):
        place = torch.arange(bins, device=rois.device, dtype=rois.dtype)[None, :, None]
        step = torch.arange(most, device=rois.device, dtype=rois.dtype)[None, None] + 0.5
        return -size[:, None, None] / 2 + place * per_bin[:, None, None] + step * (per_bin / count)[:, None, None]

    up = along(height, high, rows.clamp(min=1), bin_high, most[0])[:, :, None, :, None]
    right = along(width, wide, columns.clamp(min=1), bin_wide, most[1])[:, None, :, None, :]
    cosine, sine = (function(rois[:, 5] * turn)[:, None, None, None, None] for function in (torch.cos, torch.sin))
    at_y = up * cosine - right * sine + y[:, None, None, None, None]
    at_x = up * sine + right * cosine + x[:, None, None, None, None]
    there = torch.arange(most[0], device=rois.device)[:, None] < rows[:, None, None]
    there = there & (torch.arange(most[1], device=rois.device) < columns[:, None, None])
    share = there.to(rois.dtype) / (rows * columns).clamp(min=1)[:, None, None]
    return at_y, at_x, share[:, None, None]


def _corners(y, x, height, width):
    """The four places around each point of a flat map, and their weights, 0 where the point lies outside."""
    inside = (y >= -1) & (y <= height) & (x >= -1) & (x <= width)
    y, x = y.clamp(0, height - 1), x.clamp(0, width - 1)
    low_y, low_x = y.floor(), x.floor()
    down, right = y - low_y, x - low_x
    low_y, low_x = low_y.long(), low_x.long()
    high_y, high_x = (low_y + 1).clamp(max=height - 1), (low_x + 1).clamp(max=width - 1)
    places = [low_y * width + low_x, low_y * width + high_x, high_y * width + low_x, high_y * width + high_x]
    weights = [(1 - down) * (1 - right), (1 - down) * right, down * (1 - right), down * right]
    return torch.stack(places, -1), torch.stack(weights, -1) * inside[..., None]


def _parts(rois, shape, high, wide, number, settings, scale):
    """Of some regions at once: which they are, the places of their samples in all maps, and the weights."""
    _batch, channels, height, width = shape
    kind = torch.float64 if rois.dtype == torch.float64 else torch.float32
    rois = rois.to(kind)
    y, x, share = _samples(rois, scale, high, wide, number, *settings)
    points = max(1, y[0].numel()) if len(rois) else 1
    for part in torch.arange(len(rois), device=rois.device).split(max(1, _AT_ONCE // (points * 4 * channels))):
        places, weights = _corners(y[part], x[part], height, width)
        places = places + (rois[part, 0].long() * height * width)[:, None, None, None, None, None]
        weights = weights * share[part][..., None]
        yield part, places.reshape(len(part), high * wide, -1), weights.reshape(len(part), high * wide, -1)


def _forward(features, rois, high, wide, scale, number, settings):
    _batch, channels, _height, _width = features.shape
    out = features.new_zeros(len(rois), channels, high, wide)
    if not len(rois):
        return out
    flat = features.permute(0, 2, 3, 1).reshape(-1, channels)
    for part, places, weights in _parts(rois, features.shape, high, wide, number, settings, scale):
        found = flat[places].to(weights.dtype)
        made = (found * weights[..., None]).sum(2)
        out[part] = made.transpose(1, 2).reshape(len(part), channels, high, wide).to(out.dtype)
    return out


def _backward(grad, rois, shape, scale, number, settings):
    batch, channels, height, width = shape
    high, wide = grad.shape[2:]
    kind = torch.float64 if grad.dtype == torch.float64 else torch.float32
    made = torch.zeros(batch * height * width, channels, dtype=kind, device=grad.device)
    if len(rois):
        for part, places, weights in _parts(rois, shape, high, wide, number, settings, scale):
            given = grad[part].reshape(len(part), channels, high * wide).transpose(1, 2).to(kind)
            added = given[:, :, None] * weights[..., None].to(kind)
            made.index_add_(0, places.flatten(), added.reshape(-1, channels))
    return made.reshape(batch, height, width, channels).permute(0, 3, 1, 2).to(grad.dtype)


# Half a pixel of offset, no smallest region, and the unit of the angle.
_HALF, _HALF_IN_DEGREES = (0.5, 0.0, 1.0), (0.5, 0.0, _DEGREE)
# No offset, regions of at least one pixel, turning the other way.
_WHOLE = (0.0, 1.0, -1.0)


def roi_align_rotated_forward(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio):
    """(regions, channels, pooled_height, pooled_width); angles in radians, as in S2ANet."""
    return _forward(input, rois, pooled_height, pooled_width, spatial_scale, sampling_ratio, _HALF)


def roi_align_rotated_backward(
    grad, rois, spatial_scale, pooled_height, pooled_width, batch_size, channels, height, width, sampling_ratio
):
    return _backward(grad, rois, (batch_size, channels, height, width), spatial_scale, sampling_ratio, _HALF)


def forward_in_degrees(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio):
    """detectron2's form."""
    return _forward(input, rois, pooled_height, pooled_width, spatial_scale, sampling_ratio, _HALF_IN_DEGREES)


def backward_in_degrees(
    grad, rois, spatial_scale, pooled_height, pooled_width, batch_size, channels, height, width, sampling_ratio
):
    shape = (batch_size, channels, height, width)
    return _backward(grad, rois, shape, spatial_scale, sampling_ratio, _HALF_IN_DEGREES)


def forward(features, rois, pooled_height, pooled_width, spatial_scale, sample_num, output):
    """AerialDetection's form, without the half pixel: written into ``output``; 1 where regions have 6 numbers."""
    if rois.shape[1] != 6:
        return 0
    output.copy_(_forward(features, rois, pooled_height, pooled_width, spatial_scale, sample_num, _WHOLE))
    return 1


def backward(top_grad, rois, pooled_height, pooled_width, spatial_scale, sample_num, bottom_grad):
    """Added to ``bottom_grad``."""
    if rois.shape[1] != 6:
        return 0
    bottom_grad += _backward(top_grad, rois, bottom_grad.shape, spatial_scale, sample_num, _WHOLE)
    return 1
