# mypy: ignore-errors
"""Operators of FlowNet and PWC-Net: correlation over displacements, the norm over channels, warping by a flow.

``correlation_*`` is made for a kernel of one pixel and a first stride of 1, as both networks use it, and says so
otherwise. For a row of displacements it holds that many copies of the second map, where the kernel holds none; its
backward pass computes the forward pass again. float16, float32 and float64; ``resample2d_*`` float32, as the kernel.
"""

import torch
from torch.nn import functional

# --- correlation ---


def _correlated(input1, input2, pad_size, kernel_size, max_displacement, stride1, stride2):
    if kernel_size != 1 or stride1 != 1:
        raise NotImplementedError("correlation is replaced for kernel_size 1 and stride1 1 only")
    if max_displacement > pad_size + min(input1.shape[2:]) // 2:
        raise ValueError("the displacement is larger than the padded image")
    reach = max_displacement // stride2
    one, two = (functional.pad(image, (pad_size,) * 4) for image in (input1, input2))
    height, width = (size - 2 * max_displacement for size in one.shape[2:])
    one = one[:, :, max_displacement : max_displacement + height, max_displacement : max_displacement + width]
    begin = max_displacement - reach * stride2
    two = two[:, :, :, begin : begin + width + 2 * reach * stride2]
    windows = two.unfold(3, 2 * reach * stride2 + 1, 1)[..., ::stride2]
    rows = []
    for row in range(-reach, reach + 1):
        top = max_displacement + row * stride2
        rows.append(torch.einsum("nchw,nchwd->ndhw", one, windows[:, :, top : top + height]))
    return torch.cat(rows, 1) / input1.shape[1]


def correlation_forward(
    input1, input2, rinput1, rinput2, output, pad_size, kernel_size, max_displacement, stride1, stride2, corr_multiply
):
    """The mean product with the second image at each displacement, row by row; written into ``output``.

    Images are (batch, channels, height, width), and ``output`` is given its size here.
    """
    made = _correlated(input1, input2, pad_size, kernel_size, max_displacement, stride1, stride2)
    output.resize_(made.shape).copy_(made)
    return 1


def correlation_backward(
    input1, input2, rinput1, rinput2, grad_output, grad_input1, grad_input2, pad_size, kernel_size, max_displacement,
    stride1, stride2, corr_multiply,
):  # fmt: skip
    """The gradients of the images, which are given their size here."""
    with torch.enable_grad():
        given = [one.detach().requires_grad_() for one in (input1, input2)]
        made = _correlated(*given, pad_size, kernel_size, max_displacement, stride1, stride2)
    for into, grad in zip((grad_input1, grad_input2), torch.autograd.grad(made, given, grad_output)):  # noqa: B905
        into.resize_(grad.shape).copy_(grad)
    return 1


# --- the norm over channels ---


def channelnorm_forward(input1, output, norm_deg):
    """The Euclidean norm, whatever ``norm_deg`` says, as in the kernel."""
    output.copy_((input1.float() ** 2 if input1.dtype == torch.float16 else input1**2).sum(1, keepdim=True).sqrt())
    return 1


def channelnorm_backward(input1, output, grad_output, grad_input1, norm_deg):
    grad_input1.copy_(grad_output * input1 / (output + 1e-9))
    return 1


# --- warping ---


def _corners(flow, height, width):
    """The four places around where each pixel's flow leads, moved into the image, and the shares of right and lower."""
    rows, columns = flow.shape[2:]
    x = torch.arange(columns, device=flow.device) + flow[:, 0]
    y = torch.arange(rows, device=flow.device).reshape(-1, 1) + flow[:, 1]
    left, top = x.floor().long(), y.floor().long()
    sides = [left.clamp(0, width - 1), (left + 1).clamp(0, width - 1)]
    ends = [top.clamp(0, height - 1), (top + 1).clamp(0, height - 1)]
    return x, y, sides, ends


def _taken(image, row, column):
    batch, channels, height, width = image.shape
    place = (row * width + column).reshape(batch, 1, -1).expand(-1, channels, -1)
    return image.reshape(batch, channels, height * width).gather(2, place).reshape(batch, channels, *row.shape[1:])


def _only_one_pixel(kernel_size):
    if kernel_size != 1:
        raise NotImplementedError("resample2d is replaced for kernel_size 1 only")


def resample2d_forward(input1, input2, output, kernel_size, bilinear):
    """``input1`` where the flow ``input2`` (right, down) leads, the border repeated; written into ``output``."""
    _only_one_pixel(kernel_size)
    height, width = output.shape[2:]
    x, y, sides, ends = _corners(input2, height, width)
    if not bilinear:
        column, row = ((one + 0.5).floor().long() for one in (x, y))
        output.copy_(_taken(input1, row.clamp(0, height - 1), column.clamp(0, width - 1)))
        return 1
    right, low = (x - x.floor())[:, None], (y - y.floor())[:, None]
    upper = (1 - right) * _taken(input1, ends[0], sides[0]) + right * _taken(input1, ends[0], sides[1])
    lower = (1 - right) * _taken(input1, ends[1], sides[0]) + right * _taken(input1, ends[1], sides[1])
    output.copy_((1 - low) * upper + low * lower)
    return 1


def resample2d_backward(input1, input2, grad_output, grad_input1, grad_input2, kernel_size, bilinear):
    """The gradient of the image is added to ``grad_input1``, that of the flow written into ``grad_input2``.

    As in the kernel, the shares of the image's gradient are cut towards zero where the flow leads left of the image or
    above it, and the flow's gradient is that of the bilinear form.
    """
    _only_one_pixel(kernel_size)
    batch, channels, height, width = input1.shape
    x, y, sides, ends = _corners(input2, height, width)
    right, low = (x - x.trunc())[:, None], (y - y.trunc())[:, None]
    flat = grad_input1.view(batch, channels, height * width)
    for end, share_y in ((0, 1 - low), (1, low)):
        for side, share_x in ((0, 1 - right), (1, right)):
            place = (ends[end] * width + sides[side]).reshape(batch, 1, -1).expand(-1, channels, -1)
            flat.scatter_add_(2, place, (share_x * share_y * grad_output).flatten(2))
    x, y, sides, ends = _corners(input2, *grad_output.shape[2:])
    right, low = (x - x.floor())[:, None], (y - y.floor())[:, None]
    corner = [[_taken(input1, ends[end], sides[side]) for side in (0, 1)] for end in (0, 1)]
    of_x = (1 - low) * (corner[0][1] - corner[0][0]) + low * (corner[1][1] - corner[1][0])
    of_y = (1 - right) * (corner[1][0] - corner[0][0]) + right * (corner[1][1] - corner[0][1])
    grad_input2.copy_(torch.stack([(grad_output * of_x).sum(1), (grad_output * of_y).sum(1)], 1))
    return 1
