# mypy: ignore-errors
"""Correlation of two images over a patch of displacements: Pytorch-Correlation-extension (spatial_correlation_sampler).

float16, bfloat16, float32 and float64; any kernel, patch, padding, dilation and stride. For a row of displacements as
many copies of the second image are held as the row is long, where the kernel holds none. The gradient computes the
forward pass again; for a patch with an even side and an even dilation that of the kernel is wrong, and is refused.
"""

import torch
from torch.nn import functional


def _correlated(input1, input2, kernel, patch, pad, dilation, dilation_patch, stride):
    batch, _, height, width = input1.shape
    reach = [dilation_patch[one] * (patch[one] - 1) for one in (0, 1)]
    before = [one // 2 for one in reach]
    padded = functional.pad(input2, (before[1], reach[1] - before[1], before[0], reach[0] - before[0]))
    windows = padded.unfold(3, reach[1] + 1, 1)[..., :: dilation_patch[1]]
    rows = []
    for row in range(patch[0]):
        top = row * dilation_patch[0]
        rows.append(torch.einsum("nchw,nchwp->nphw", input1, windows[:, :, top : top + height]))
    maps = torch.stack(rows, 1).reshape(batch * patch[0] * patch[1], 1, height, width)
    ones = torch.ones(1, 1, *kernel, dtype=maps.dtype, device=maps.device)
    made = functional.conv2d(maps, ones, stride=stride, padding=pad, dilation=dilation)
    return made.reshape(batch, *patch, *made.shape[2:])


def forward(
    input1, input2, kH, kW, patchH, patchW, padH, padW, dilationH, dilationW, dilation_patchH, dilation_patchW, dH, dW
):
    """(batch, channels, height, width), twice, give (batch, patchH, patchW, rows, columns); zeros around the images."""
    return _correlated(
        input1, input2, (kH, kW), (patchH, patchW), (padH, padW), (dilationH, dilationW),
        (dilation_patchH, dilation_patchW), (dH, dW),
    )  # fmt: skip


def backward(
    input1, input2, grad_output, kH, kW, patchH, patchW, padH, padW, dilationH, dilationW, dilation_patchH,
    dilation_patchW, dH, dW,
):  # fmt: skip
    """The gradients of both images."""
    for patch, dilation in ((patchH, dilation_patchH), (patchW, dilation_patchW)):
        if patch % 2 == 0 and dilation % 2 == 0:
            raise NotImplementedError("the kernel's gradient for even patches and dilations is not that of its result")
    with torch.enable_grad():
        given = [one.detach().requires_grad_() for one in (input1, input2)]
        made = forward(
            *given, kH, kW, patchH, patchW, padH, padW, dilationH, dilationW, dilation_patchH, dilation_patchW, dH, dW
        )
    return list(torch.autograd.grad(made, given, grad_output))
