# mypy: ignore-errors
"""Add a bias, apply an activation or its derivative, and scale: linear, or leaky rectified linear.

Any shape; the bias lies along dimension 1. Two or three times as much is held in
memory as the kernel holds.
"""

import torch

_LINEAR, _LEAKY = 1, 3


def fused_bias_act(input, bias, refer, act, grad, alpha, scale):
    """``bias`` and ``refer`` may be empty. ``act`` is 1 (linear) or 3 (leaky), ``grad`` the order of the derivative.

    The first derivative of the leaky form is taken where ``refer``, the result before, is positive or not.
    """
    x = input.contiguous()
    if bias.numel():
        x = x + _along_dimension_1(bias.contiguous(), x)
    if grad == 2 and act in (_LINEAR, _LEAKY):
        return torch.zeros_like(x)
    if act == _LEAKY and grad == 0:
        x = torch.where(x > 0, x, x * alpha)
    elif act == _LEAKY and grad == 1:
        x = torch.where(refer.reshape(x.shape) > 0, x, x * alpha) if refer.numel() else x * alpha
    return x * scale


def _along_dimension_1(bias, x):
    bias = bias.reshape(-1).to(x.dtype)
    if x.dim() > 1 and x.shape[1] == bias.numel():
        return bias.reshape(1, -1, *[1] * (x.dim() - 2))
    step = 1
    for size in x.shape[2:]:
        step *= size
    places = torch.arange(x.numel(), device=x.device) // step % bias.numel()
    return bias[places].reshape(x.shape)
