# mypy: ignore-errors
"""Multi-scale deformable attention: a weighted sum of bilinear samples from feature maps of several sizes.

The sizes are read on the device, so that nothing waits for the host, and all shapes are static. float32 and float64.
A corner of all samples is gathered at once: (batch * queries * heads * levels * points, channels) elements are held
three times, where the kernel holds none of them. The backward pass computes the forward pass again.
"""

import torch


def ms_deform_attn_forward(value, spatial_shapes, level_start_index, sampling_loc, attn_weight, im2col_step):
    """What each query sees.

    Args:
        value: (batch, all positions of all levels, heads, channels).
        spatial_shapes: (levels, 2), height and width of each.
        level_start_index: (levels), the position at which each begins.
        sampling_loc: (batch, queries, heads, levels, points, 2), x and y as fractions of the level's size.
        attn_weight: (batch, queries, heads, levels, points).
        im2col_step: how many of the batch a kernel took at once; without a meaning here.

    Returns:
        (batch, queries, heads * channels). Outside a level there are zeros.
    """
    batch, positions, heads, channels = value.shape
    queries, levels, points = sampling_loc.shape[1], sampling_loc.shape[3], sampling_loc.shape[4]
    height, width = (spatial_shapes[:, one].reshape(levels, 1) for one in (0, 1))
    x = sampling_loc[..., 0] * width.to(value.dtype) - 0.5
    y = sampling_loc[..., 1] * height.to(value.dtype) - 0.5
    inside = (x > -1) & (y > -1) & (x < width) & (y < height)
    x, y = torch.where(inside, x, torch.zeros_like(x)), torch.where(inside, y, torch.zeros_like(y))
    left, top = x.detach().floor(), y.detach().floor()
    weight = torch.where(inside, attn_weight, torch.zeros_like(attn_weight))
    rows = value.reshape(batch * positions * heads, channels)
    first = torch.arange(batch, device=value.device).reshape(batch, 1, 1, 1, 1) * positions
    head = torch.arange(heads, device=value.device).reshape(heads, 1, 1)
    start = level_start_index.reshape(levels, 1)
    result = value.new_zeros(batch, queries, heads, channels)
    for down, right in ((0, 0), (0, 1), (1, 0), (1, 1)):
        row, column = top.long() + down, left.long() + right
        there = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        place = first + start + (row * width + column).clamp(min=0)
        place = torch.where(there, place * heads + head, torch.zeros_like(place))
        share = (y - top if down else 1 - (y - top)) * (x - left if right else 1 - (x - left)) * weight
        share = torch.where(there, share, torch.zeros_like(share)).reshape(batch, queries, heads, -1, 1)
        seen = rows.index_select(0, place.reshape(-1)).reshape(batch, queries, heads, levels * points, channels)
        result = result + (seen * share).sum(3)
    return result.reshape(batch, queries, heads * channels)


def ms_deform_attn_backward(
    value, spatial_shapes, level_start_index, sampling_loc, attn_weight, grad_output, im2col_step
):
    """The gradients of ``value``, ``sampling_loc`` and ``attn_weight``."""
    with torch.enable_grad():
        inputs = [one.detach().requires_grad_() for one in (value, sampling_loc, attn_weight)]
        result = ms_deform_attn_forward(inputs[0], spatial_shapes, level_start_index, inputs[1], inputs[2], im2col_step)
    return list(torch.autograd.grad(result, inputs, grad_output.reshape(result.shape)))
