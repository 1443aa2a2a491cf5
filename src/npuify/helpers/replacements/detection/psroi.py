# mypy: ignore-errors
"""Deformable position-sensitive pooling of regions, as mmdetection 1 and maskrcnn-benchmark have it.

float16, float32 and float64. The samples of some regions are held at once, four times, of so many that they are at most
2**24 numbers; the kernel holds none. The gradient computes the forward pass again.
"""

import torch

_AT_ONCE = 2**24


def _half_up(x):
    """Halves go away from zero, as C's ``round`` takes them."""
    return torch.sign(x) * torch.floor(x.abs() + 0.5)


def _pooled(data, rois, trans, no_trans, scale, dim, groups, size, parts, samples, trans_std):
    """(regions, dim, size, size), and how many samples count in each."""
    _, channels, height, width = data.shape
    number, device = len(rois), data.device
    start = _half_up(rois[:, 1:3]) * scale - 0.5
    length = ((_half_up(rois[:, 3:5]) + 1) * scale - 0.5 - start).clamp(min=0.1)
    place = torch.arange(size, device=device)
    if no_trans:
        move = data.new_zeros(number, 1, 2, size, size)
    else:
        part = (place.to(data.dtype) / size * parts).floor().long()
        move = trans.reshape(number, -1, 2, parts, parts)[:, :, :, part[:, None], part] * trans_std
    classes = move.shape[1]
    step = torch.arange(samples, device=device)
    ends = []
    for axis, cell in ((0, place), (1, place[:, None])):
        one = (length[:, axis] / size).reshape(-1, 1, 1, 1)
        begin = (
            cell * one + start[:, axis].reshape(-1, 1, 1, 1) + move[:, :, axis] * length[:, axis].reshape(-1, 1, 1, 1)
        )
        ends.append(begin[..., None] + step * (one / samples)[..., None])
    x, y = ends[0][..., None, :], ends[1][..., :, None]
    there = (x >= -0.5) & (x <= width - 0.5) & (y >= -0.5) & (y <= height - 0.5)
    x, y = x.clamp(0, width - 1), y.clamp(0, height - 1)
    group = (place * groups // size).clamp(0, groups - 1)
    channel = (torch.arange(dim, device=device)[:, None, None] * groups + group[:, None]) * groups + group
    first = (rois[:, 0].long().reshape(-1, 1, 1, 1) * channels + channel)[..., None, None] * (height * width)
    flat = data.reshape(-1)
    of_class = torch.arange(dim, device=device) // (dim // classes)
    x, y, there = x[:, of_class], y[:, of_class], there[:, of_class]
    left, top = x.detach().floor(), y.detach().floor()
    right, low = x.detach().ceil(), y.detach().ceil()
    value = 0
    for column, share_x in ((left, 1 - (x - left)), (right, x - left)):
        for row, share_y in ((top, 1 - (y - top)), (low, y - top)):
            at = first + row.long() * width + column.long()
            value = value + flat[at] * (share_x * share_y)
    value = torch.where(there, value, torch.zeros_like(value)).sum((-1, -2))
    count = there.expand(*there.shape[:4], samples, samples).sum((-1, -2)).to(data.dtype)
    return value / count.clamp(min=1), count


def _slices(rois, dim, size, samples):
    each = dim * size * size * samples * samples
    return torch.arange(len(rois), device=rois.device).split(max(1, _AT_ONCE // max(1, each)))


def deform_psroi_pooling_forward(
    input, bbox, trans, out, top_count, no_trans, spatial_scale, output_dim, group_size, pooled_size, part_size,
    sample_per_part, trans_std,
):  # fmt: skip
    """The means of the samples of each cell, each cell from channels of its own; into ``out`` and ``top_count``.

    Args:
        input: (batch, output_dim * group_size ** 2, height, width).
        bbox: (regions, 5): image, x1, y1, x2, y2.
        trans: (regions, 2 * classes, part_size, part_size), by how much of its size a part of a region moves.
        out: (regions, output_dim, pooled_size, pooled_size).
        top_count: as ``out``; how many samples lie in the image.
    """
    for part in _slices(bbox, output_dim, pooled_size, sample_per_part):
        made, count = _pooled(
            input, bbox[part], None if no_trans else trans[part], no_trans, spatial_scale, output_dim, group_size,
            pooled_size, part_size, sample_per_part, trans_std,
        )  # fmt: skip
        out[part], top_count[part] = made, count


def deform_psroi_pooling_backward(
    out_grad, input, bbox, trans, top_count, input_grad, trans_grad, no_trans, spatial_scale, output_dim, group_size,
    pooled_size, part_size, sample_per_part, trans_std,
):  # fmt: skip
    """The gradients are added to ``input_grad`` and ``trans_grad``."""
    for part in _slices(bbox, output_dim, pooled_size, sample_per_part):
        with torch.enable_grad():
            given = [input.detach().requires_grad_()]
            given += [] if no_trans else [trans[part].detach().requires_grad_()]
            made, _ = _pooled(
                given[0], bbox[part], given[-1], no_trans, spatial_scale, output_dim, group_size, pooled_size,
                part_size, sample_per_part, trans_std,
            )  # fmt: skip
        grads = torch.autograd.grad(made, given, out_grad[part])
        input_grad += grads[0]
        if not no_trans:
            trans_grad[part] += grads[1]


# --- the same, with results that are returned ---


def dcn_v2_psroi_pooling_forward(
    input, bbox, trans, no_trans, spatial_scale, output_dim, group_size, pooled_size, part_size, sample_per_part,
    trans_std,
):  # fmt: skip
    out, count = (input.new_zeros(len(bbox), output_dim, pooled_size, pooled_size) for _ in range(2))
    deform_psroi_pooling_forward(
        input, bbox, trans, out, count, no_trans, spatial_scale, output_dim, group_size, pooled_size, part_size,
        sample_per_part, trans_std,
    )  # fmt: skip
    return out, count


def dcn_v2_psroi_pooling_backward(
    out_grad, input, bbox, trans, top_count, no_trans, spatial_scale, output_dim, group_size, pooled_size, part_size,
    sample_per_part, trans_std,
):  # fmt: skip
    made = torch.zeros_like(input), torch.zeros_like(trans)
    deform_psroi_pooling_backward(
        out_grad, input, bbox, trans, top_count, *made, no_trans, spatial_scale, output_dim, group_size, pooled_size,
        part_size, sample_per_part, trans_std,
    )  # fmt: skip
    return made
