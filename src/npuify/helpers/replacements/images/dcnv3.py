# mypy: ignore-errors
"""Deformable convolution without weights of its own, with groups and modulation: version 3, as InternImage has it.

float16, float32 and float64; any kernel, stride, padding, dilation and groups, with the centre or without. The samples
of all places are held, four times, where the kernel holds none; the gradient computes the forward pass again.
"""

import torch


def dcnv3_forward(
    input, offset, mask, kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, group,
    group_channels, offset_scale, im2col_step, remove_center=0,
):  # fmt: skip
    """The weighted samples around each place.

    Args:
        input: (batch, height, width, group * group_channels).
        offset: (batch, rows, columns, group * taps * 2), right and then down for each tap, column by column.
        mask: (batch, rows, columns, group * taps).
        kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w: for height and width.
        group: parts of the channels that have offsets of their own.
        group_channels: channels of each.
        offset_scale: by how much the whole kernel is stretched.
        im2col_step: how many images a kernel takes at once; without a meaning here.
        remove_center: whether the tap in the middle is left out.

    Returns:
        (batch, rows, columns, group * group_channels).
    """
    batch, height, width, _ = input.shape
    rows = (height + 2 * pad_h - dilation_h * (kernel_h - 1) - 1) // stride_h + 1
    columns = (width + 2 * pad_w - dilation_w * (kernel_w - 1) - 1) // stride_w + 1
    reach_h, reach_w = dilation_h * (kernel_h - 1) // 2, dilation_w * (kernel_w - 1) // 2
    taps = [
        (column * dilation_w, row * dilation_h)
        for column in range(kernel_w)
        for row in range(kernel_h)
        if not remove_center or (column, row) != (kernel_w // 2, kernel_h // 2)
    ]
    # Places and sums of half types are in single precision, as in the kernel.
    kind = torch.float32 if input.dtype in (torch.float16, torch.bfloat16) else input.dtype
    tap = torch.tensor(taps, device=input.device, dtype=kind)
    moved = (tap + offset.to(kind).reshape(batch, rows, columns, group, len(taps), 2)) * offset_scale
    first_x = torch.arange(columns, device=input.device, dtype=kind) * stride_w + reach_w - pad_w
    first_y = torch.arange(rows, device=input.device, dtype=kind) * stride_h + reach_h - pad_h
    x = moved[..., 0] + (first_x - reach_w * offset_scale)[:, None, None]
    y = moved[..., 1] + (first_y - reach_h * offset_scale)[:, None, None, None]
    inside = (x > -1) & (y > -1) & (x < width) & (y < height)
    x, y = torch.where(inside, x, torch.zeros_like(x)), torch.where(inside, y, torch.zeros_like(y))
    left, top = x.detach().floor(), y.detach().floor()
    flat = input.reshape(batch * height * width * group, group_channels)
    image = torch.arange(batch, device=input.device).reshape(-1, 1, 1, 1, 1) * height
    of_group = torch.arange(group, device=input.device)[:, None]
    weight = mask.to(kind).reshape(batch, rows, columns, group, len(taps))
    result = 0
    for down, right in ((0, 0), (0, 1), (1, 0), (1, 1)):
        row, column = top.long() + down, left.long() + right
        there = inside & (row >= 0) & (column >= 0) & (row < height) & (column < width)
        place = ((image + row) * width + column) * group + of_group
        share = (y - top if down else 1 - (y - top)) * (x - left if right else 1 - (x - left)) * weight
        share = torch.where(there, share, torch.zeros_like(share))
        seen = flat.index_select(0, torch.where(there, place, torch.zeros_like(place)).reshape(-1))
        result = result + (seen.reshape(*place.shape, group_channels) * share[..., None]).sum(-2)
    return result.reshape(batch, rows, columns, group * group_channels).to(input.dtype)


def dcnv3_backward(
    input, offset, mask, kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, group,
    group_channels, offset_scale, grad_output, im2col_step, remove_center=0,
):  # fmt: skip
    """The gradients of input, offset and mask."""
    with torch.enable_grad():
        given = [one.detach().requires_grad_() for one in (input, offset, mask)]
        made = dcnv3_forward(
            *given, kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, group,
            group_channels, offset_scale, im2col_step, remove_center,
        )  # fmt: skip
    return list(torch.autograd.grad(made, given, grad_output))
