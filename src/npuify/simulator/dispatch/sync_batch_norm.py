"""Kernels of SyncBatchNorm, which PyTorch has for accelerators only; statistics are those of ``torch.nn.BatchNorm``."""

from __future__ import annotations

import torch
from torch import Tensor


def _axes(x: Tensor) -> list[int]:
    return [i for i in range(x.dim()) if i != 1]


def _wide(x: Tensor, like: Tensor) -> Tensor:
    """A value per channel, shaped to be spread over ``like``."""
    return x.reshape([1, -1] + [1] * (like.dim() - 2))


def _exact(x: Tensor) -> Tensor:
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def batch_norm_stats(input: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Mean and inverse standard deviation of each channel on this process."""
    x = _exact(input)
    return x.mean(_axes(x)), torch.rsqrt(x.var(_axes(x), unbiased=False) + eps)


def batch_norm_gather_stats_with_counts(
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    counts: Tensor,
) -> tuple[Tensor, Tensor]:
    """Mean and inverse standard deviation over all processes, from those of each; updates the running ones."""
    n = counts.to(mean.dtype).reshape(-1, 1)
    total = n.sum()
    all_mean = (mean * n).sum(0) / total
    squares = (1.0 / invstd.square() - eps + (mean - all_mean).square()) * n
    variance = squares.sum(0) / total
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(all_mean.to(running_mean.dtype), alpha=momentum)
    if running_var is not None:
        unbiased = squares.sum(0) / (total - 1)
        running_var.mul_(1 - momentum).add_(unbiased.to(running_var.dtype), alpha=momentum)
    return all_mean, torch.rsqrt(variance + eps)


def batch_norm_gather_stats(
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    count: int,
) -> tuple[Tensor, Tensor]:
    """The same, where each process has seen as many values."""
    counts = torch.full((mean.shape[0],), float(count), dtype=mean.dtype, device=mean.device)
    return batch_norm_gather_stats_with_counts(input, mean, invstd, running_mean, running_var, momentum, eps, counts)


def batch_norm_elemt(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, invstd: Tensor, eps: float
) -> Tensor:
    """The normalised input, scaled and shifted."""
    x = _exact(input)
    out = (x - _wide(mean, x)) * _wide(invstd, x)
    if weight is not None:
        out = out * _wide(weight, x)
    if bias is not None:
        out = out + _wide(bias, x)
    return out.to(input.dtype)


def batch_norm_backward_reduce(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    input_g: bool,
    weight_g: bool,
    bias_g: bool,
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """Sums over this process: of the gradient, of it times the centred input, and the gradients of weight and bias."""
    x, g = _exact(input), _exact(grad_out)
    sum_dy = g.sum(_axes(x))
    sum_dy_xmu = (g * (x - _wide(mean, x))).sum(_axes(x))
    weight_dtype = weight.dtype if weight is not None else sum_dy.dtype
    grad_weight = (sum_dy_xmu * invstd).to(weight_dtype) if weight_g else None
    grad_bias = sum_dy.to(weight_dtype) if bias_g else None
    return sum_dy, sum_dy_xmu, grad_weight, grad_bias


def batch_norm_backward_elemt(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    sum_dy: Tensor,
    sum_dy_xmu: Tensor,
    count: Tensor,
) -> Tensor:
    """The gradient of the input, from the sums over all processes."""
    x, g = _exact(input), _exact(grad_out)
    total = count.sum().to(sum_dy.dtype)
    centred = x - _wide(mean, x)
    scale = _wide(invstd if weight is None else invstd * weight, x)
    out = (g - _wide(sum_dy / total, x) - centred * _wide(invstd.square() * sum_dy_xmu / total, x)) * scale
    return out.to(input.dtype)


KERNELS = {
    function.__name__: function
    for function in (
        batch_norm_stats,
        batch_norm_gather_stats,
        batch_norm_gather_stats_with_counts,
        batch_norm_elemt,
        batch_norm_backward_reduce,
        batch_norm_backward_elemt,
    )
}
