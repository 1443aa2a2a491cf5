# mypy: ignore-errors
"""Deformable convolution, with masks and without, forward and backward, as mmdetection had it and others took it over.

Batches of images; any kernel, stride, padding, dilation and groups; float16, float32 and float64. The samples of all
images are held at once, (batch, channels * kernel, places) numbers; the kernels hold those of one image, or of
``im2col_step``. The backward passes compute the samples again.
"""

import torch


def _sampled(input, offset, mask, kernel, stride, padding, dilation, groups):
    """(batch, channels, taps, rows, columns): the image where each tap of the kernel looks, zeros outside.

    Args:
        input: (batch, channels, height, width).
        offset: (batch, groups * taps * 2, rows, columns), down and then right for each tap.
        mask: (batch, groups * taps, rows, columns), or None.
        kernel, stride, padding, dilation: for height and width.
        groups: parts of the channels that have an offset of their own.
    """
    batch, channels, height, width = input.shape
    rows, columns = offset.shape[2:]
    taps = kernel[0] * kernel[1]
    offset = offset.reshape(batch, groups, taps, 2, rows, columns)
    tap = torch.arange(taps, device=input.device).reshape(taps, 1, 1)
    row = torch.arange(rows, device=input.device).reshape(rows, 1)
    column = torch.arange(columns, device=input.device)
    y = row * stride[0] - padding[0] + tap // kernel[1] * dilation[0] + offset[:, :, :, 0]
    x = column * stride[1] - padding[1] + tap % kernel[1] * dilation[1] + offset[:, :, :, 1]
    inside = (y > -1) & (x > -1) & (y < height) & (x < width)
    y, x = torch.where(inside, y, torch.zeros_like(y)), torch.where(inside, x, torch.zeros_like(x))
    top, left = y.detach().floor(), x.detach().floor()
    flat = input.reshape(batch, groups, channels // groups, height * width).transpose(2, 3)
    flat = flat.reshape(batch * groups * height * width, channels // groups)
    first = torch.arange(batch * groups, device=input.device).reshape(batch, groups, 1, 1, 1) * (height * width)
    result = None
    for down, right in ((0, 0), (0, 1), (1, 0), (1, 1)):
        at_y, at_x = top.long() + down, left.long() + right
        there = inside & (at_y >= 0) & (at_x >= 0) & (at_y < height) & (at_x < width)
        place = torch.where(there, first + at_y * width + at_x, torch.zeros_like(at_y))
        share = (y - top if down else 1 - (y - top)) * (x - left if right else 1 - (x - left))
        share = torch.where(there, share, torch.zeros_like(share))
        seen = flat.index_select(0, place.reshape(-1)).reshape(*place.shape, -1) * share[..., None]
        result = seen if result is None else result + seen
    if mask is not None:
        result = result * mask.reshape(batch, groups, taps, rows, columns, 1)
    return result.permute(0, 1, 5, 2, 3, 4).reshape(batch, channels, taps, rows, columns)


def _convolved(input, offset, mask, weight, stride, padding, dilation, group, deformable_group):
    sampled = _sampled(input, offset, mask, weight.shape[2:], stride, padding, dilation, deformable_group)
    batch, channels, taps, rows, columns = sampled.shape
    sampled = sampled.reshape(batch, group, channels // group * taps, rows * columns)
    filters = weight.reshape(group, weight.shape[0] // group, channels // group * taps)
    return torch.matmul(filters, sampled).reshape(batch, weight.shape[0], rows, columns)


def _gradients(input, offset, mask, weight, grad, stride, padding, dilation, group, deformable_group):
    """Those of all that is not None, in the order of the arguments."""
    with torch.enable_grad():
        given = [one.detach().requires_grad_() if one is not None else None for one in (input, offset, mask, weight)]
        result = _convolved(*given, stride, padding, dilation, group, deformable_group)
    wanted = [one for one in given if one is not None]
    return torch.autograd.grad(result, wanted, grad.reshape(result.shape))


# --- without a mask ---


def deform_conv_forward(
    input, weight, offset, output, columns, ones, kw, kh, dw, dh, padw, padh, dilationw, dilationh, group,
    deformable_group, im2col_step,
):  # fmt: skip
    """The result is written into ``output``."""
    made = _convolved(
        input, offset, None, weight, (dh, dw), (padh, padw), (dilationh, dilationw), group, deformable_group
    )
    output.copy_(made.reshape(output.shape))
    return 1


def deform_conv_backward_input(
    input, offset, grad_output, grad_input, grad_offset, weight, columns, kw, kh, dw, dh, padw, padh, dilationw,
    dilationh, group, deformable_group, im2col_step,
):  # fmt: skip
    """The gradient of the image is added to ``grad_input``, that of the offsets written into ``grad_offset``."""
    of_input, of_offset, _ = _gradients(
        input,
        offset,
        None,
        weight,
        grad_output,
        (dh, dw),
        (padh, padw),
        (dilationh, dilationw),
        group,
        deformable_group,
    )
    grad_input += of_input.reshape(grad_input.shape)
    grad_offset.copy_(of_offset.reshape(grad_offset.shape))
    return 1


def deform_conv_backward_parameters(
    input, offset, grad_output, grad_weight, columns, ones, kw, kh, dw, dh, padw, padh, dilationw, dilationh, group,
    deformable_group, scale, im2col_step,
):  # fmt: skip
    """The gradient of the weight, times ``scale``, is added to ``grad_weight``."""
    sampled = _sampled(input, offset, None, (kh, kw), (dh, dw), (padh, padw), (dilationh, dilationw), deformable_group)
    grad_weight += scale * _of_weight(sampled, grad_output, group).reshape(grad_weight.shape)
    return 1


def _of_weight(sampled, grad, group):
    batch, channels, taps, rows, columns = sampled.shape
    sampled = sampled.reshape(batch, group, channels // group * taps, rows * columns)
    grad = grad.reshape(batch, group, -1, rows * columns)
    return torch.matmul(grad, sampled.transpose(2, 3)).sum(0)


# --- with a mask ---


def modulated_deform_conv_forward(
    input, weight, bias, ones, offset, mask, output, columns, kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w,
    dilation_h, dilation_w, group, deformable_group, with_bias,
):  # fmt: skip
    """The result is written into ``output``."""
    made = _convolved(
        input, offset, mask, weight, (stride_h, stride_w), (pad_h, pad_w), (dilation_h, dilation_w), group,
        deformable_group,
    )  # fmt: skip
    output.copy_((made + bias.reshape(1, -1, 1, 1) if with_bias else made).reshape(output.shape))


def modulated_deform_conv_backward(
    input, weight, bias, ones, offset, mask, columns, grad_input, grad_weight, grad_bias, grad_offset, grad_mask,
    grad_output, kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, group, deformable_group,
    with_bias,
):  # fmt: skip
    """Gradients of image, weight and bias are added to what is there; those of offsets and masks are written."""
    made = _gradients(
        input, offset, mask, weight, grad_output, (stride_h, stride_w), (pad_h, pad_w), (dilation_h, dilation_w), group,
        deformable_group,
    )  # fmt: skip
    grad_input += made[0].reshape(grad_input.shape)
    grad_offset.copy_(made[1].reshape(grad_offset.shape))
    grad_mask.copy_(made[2].reshape(grad_mask.shape))
    grad_weight += made[3].reshape(grad_weight.shape)
    if with_bias:
        grad_bias += grad_output.sum((0, 2, 3)).reshape(grad_bias.shape)


def modulated_deform_conv_backward_square(
    input, weight, bias, ones, offset, mask, columns, grad_input, grad_weight, grad_bias, grad_offset, grad_mask,
    grad_output, kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, group, deformable_group,
    with_bias,
):  # fmt: skip
    """For kernels that take the padding of rows for that of columns: only where both are the same."""
    _only_square(pad_h, pad_w)
    modulated_deform_conv_backward(
        input, weight, bias, ones, offset, mask, columns, grad_input, grad_weight, grad_bias, grad_offset, grad_mask,
        grad_output, kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, group,
        deformable_group, with_bias,
    )  # fmt: skip


def _only_square(pad_h, pad_w):
    if pad_h != pad_w:
        raise NotImplementedError("the kernel's gradient is wrong where the paddings differ, and is not imitated")


# --- with a mask, and results that are returned ---


def dcn_v2_forward(
    input, weight, bias, offset, mask, kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w,
    deformable_group,
):  # fmt: skip
    """Deformable convolution with masks and a bias, of one group."""
    made = _convolved(
        input, offset, mask, weight, (stride_h, stride_w), (pad_h, pad_w), (dilation_h, dilation_w), 1, deformable_group
    )
    return made + bias.reshape(1, -1, 1, 1)


def dcn_v2_backward(
    input, weight, bias, offset, mask, grad_output, kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h,
    dilation_w, deformable_group,
):  # fmt: skip
    """The gradients of input, offset, mask, weight and bias; only where the paddings are the same."""
    _only_square(pad_h, pad_w)
    made = _gradients(
        input, offset, mask, weight, grad_output, (stride_h, stride_w), (pad_h, pad_w), (dilation_h, dilation_w), 1,
        deformable_group,
    )  # fmt: skip
    return [*made, grad_output.sum((0, 2, 3))]
