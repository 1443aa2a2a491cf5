# mypy: ignore-errors
"""What the fused norms of flash_attn and mamba_ssm compute, in plain PyTorch: dropout, a residual, then the norm.

Everything is added and normed in float32, or in double precision where it comes so, as the kernels do. Which numbers
dropout takes differs from the kernels'.
"""

import torch
from torch import nn
from torch.nn import functional


def _normed(x, weight, bias, eps, is_rms_norm):
    if is_rms_norm:
        result = x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + eps) * weight
        return result if bias is None else result + bias
    return functional.layer_norm(x, x.shape[-1:], weight, bias, eps)


def layer_norm_fn(
    x,
    weight,
    bias,
    residual=None,
    *,
    eps=1e-6,
    dropout_p=0.0,
    rowscale=None,
    prenorm=False,
    residual_in_fp32=False,
    zero_centered_weight=False,
    is_rms_norm=False,
):
    """The norm of ``x`` with ``residual``; with ``prenorm`` their sum as well, in the type of the residual."""
    kind = torch.promote_types(x.dtype, torch.float32)
    total = x.to(kind)
    if rowscale is not None:
        total = total * rowscale.to(kind).unsqueeze(-1)
    if dropout_p > 0.0:
        total = functional.dropout(total, dropout_p)
    if residual is not None:
        total = total + residual.to(kind)
    weight = weight.to(kind)
    if zero_centered_weight:
        weight = weight + 1.0
    result = _normed(total, weight, None if bias is None else bias.to(kind), eps, is_rms_norm).to(x.dtype)
    if not prenorm:
        return result
    if residual is not None:
        return result, total.to(residual.dtype)
    return result, total.to(torch.float32 if residual_in_fp32 else x.dtype)


def rms_norm_fn(x, weight, bias, residual=None, **options):
    """``layer_norm_fn`` without the mean taken away."""
    return layer_norm_fn(x, weight, bias, residual, is_rms_norm=True, **options)


class RMSNorm(nn.Module):
    """A layer of ``rms_norm_fn``; its weight has the same name, and checkpoints load."""

    def __init__(self, hidden_size, eps=1e-5, *, dropout_p=0.0, zero_centered_weight=False, device=None, dtype=None):
        super().__init__()
        self.eps = eps
        self.drop = nn.Dropout(dropout_p) if dropout_p > 0.0 else None
        self.zero_centered_weight = zero_centered_weight
        self.weight = nn.Parameter(torch.empty(hidden_size, device=device, dtype=dtype))
        self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        """Weights that change nothing."""
        nn.init.constant_(self.weight, 0.0 if self.zero_centered_weight else 1.0)

    def forward(self, x, residual=None, prenorm=False, residual_in_fp32=False):
        """The norm of ``x`` with ``residual``; with ``prenorm`` their sum as well."""
        return rms_norm_fn(
            x,
            self.weight,
            self.bias,
            residual,
            eps=self.eps,
            dropout_p=self.drop.p if self.drop is not None and self.training else 0.0,
            prenorm=prenorm,
            residual_in_fp32=residual_in_fp32,
            zero_centered_weight=self.zero_centered_weight,
        )


def dropout_add_layer_norm(x0, residual, weight, bias, dropout_p, epsilon, *, prenorm=False, residual_in_fp32=False):
    """``flash_attn.ops.layer_norm.dropout_add_layer_norm``: dropout, the residual, then the norm."""
    return layer_norm_fn(
        x0,
        weight,
        bias,
        residual,
        eps=epsilon,
        dropout_p=dropout_p,
        prenorm=prenorm,
        residual_in_fp32=residual_in_fp32,
    )


def dropout_add_rms_norm(x0, residual, weight, bias, dropout_p, epsilon, *, prenorm=False, residual_in_fp32=False):
    """``flash_attn.ops.rms_norm.dropout_add_rms_norm``: the same without the mean taken away."""
    return rms_norm_fn(
        x0,
        weight,
        bias,
        residual,
        eps=epsilon,
        dropout_p=dropout_p,
        prenorm=prenorm,
        residual_in_fp32=residual_in_fp32,
    )
