"""Layer, group and batch normalisation."""

from __future__ import annotations

import torch
from torch.nn import functional

from npuify.simulator.operators.autograd import vector_jacobian
from npuify.simulator.operators.checks import require, working
from npuify.simulator.operators.table import DERIVATIVES, DOCUMENTS, operator

_BETA = f"{DOCUMENTS}（beta）torch_npu-"


@operator("npu_layer_norm_eval", source=f"{_BETA}npu_layer_norm_eval.md")
def npu_layer_norm_eval(
    input: torch.Tensor,
    normalized_shape: list[int],
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    eps: float = 1e-5,
) -> torch.Tensor:
    return functional.layer_norm(input, list(normalized_shape), weight, bias, eps)


def _grouped(
    input: torch.Tensor,
    groups: int,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    eps: float,
    operator: str,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    require(input.dim() >= 2, operator, "the input needs a batch and channels")
    batch, channels = input.shape[:2]
    require(groups > 0 and channels % groups == 0, operator, f"{channels} channels do not fit {groups} groups")
    kind = working(input)
    flat = input.to(kind).reshape(batch, groups, -1)
    mean = flat.mean(dim=-1)
    rstd = torch.rsqrt((flat - mean.unsqueeze(-1)).square().mean(dim=-1) + eps)
    normal = ((flat - mean.unsqueeze(-1)) * rstd.unsqueeze(-1)).reshape(input.shape)
    shape = [1, channels] + [1] * (input.dim() - 2)
    if weight is not None:
        normal = normal * weight.to(kind).view(shape)
    if bias is not None:
        normal = normal + bias.to(kind).view(shape)
    return normal, mean, rstd


@operator("npu_group_norm_silu")
def npu_group_norm_silu(
    input: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    group: int,
    eps: float = 0.00001,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    normal, mean, rstd = _grouped(input, group, weight, bias, eps, "npu_group_norm_silu")
    out = (normal * torch.sigmoid(normal)).to(input.dtype)
    return out, mean.to(input.dtype), rstd.to(input.dtype)


def group_norm_swish(
    input: torch.Tensor, num_groups: int, weight: torch.Tensor, bias: torch.Tensor, eps: float, scale: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    normal, mean, rstd = _grouped(input, num_groups, weight, bias, eps, "npu_group_norm_swish")
    return (normal * torch.sigmoid(scale * normal)).to(input.dtype), mean.to(input.dtype), rstd.to(input.dtype)


@operator(
    "npu_group_norm_swish",
    gradients=("input", "weight", "bias"),
    formula=lambda a, r, g: torch.ops.npu.npu_group_norm_swish_grad(
        g[0], a.input, a.num_groups, a.weight, a.bias, r[1], r[2], [True, True, True], a.swish_scale
    ),
)
def npu_group_norm_swish(
    input: torch.Tensor,
    num_groups: int,
    weight: torch.Tensor,
    bias: torch.Tensor,
    eps: float | None = 1e-5,
    swish_scale: float | None = 1.0,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return group_norm_swish(
        input, num_groups, weight, bias, 1e-5 if eps is None else eps, 1.0 if swish_scale is None else swish_scale
    )


@operator("npu_group_norm_swish_grad", source=DERIVATIVES)
def npu_group_norm_swish_grad(
    grad: torch.Tensor,
    input: torch.Tensor,
    num_groups: int,
    weight: torch.Tensor,
    bias: torch.Tensor,
    mean: torch.Tensor,
    rstd: torch.Tensor,
    grad_input_mask: list[bool],
    swish_scale: float | None = 1.0,
) -> tuple[torch.Tensor, ...]:
    kind = working(input)
    scale = 1.0 if swish_scale is None else swish_scale
    batch = input.shape[0]
    shape = [1, input.shape[1]] + [1] * (input.dim() - 2)

    def again(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        flat = input.to(kind).reshape(batch, num_groups, -1)
        centred = flat - flat.mean(dim=-1, keepdim=True)
        variance = centred.square().mean(dim=-1, keepdim=True)
        # The saved rstd says which epsilon forward had, which this operator is not told.
        epsilon = rstd.to(kind).reshape(batch, num_groups, 1).pow(-2) - variance.detach()
        normal = (centred * torch.rsqrt(variance + epsilon)).reshape(input.shape)
        normal = normal * weight.to(kind).view(shape) + bias.to(kind).view(shape)
        return (normal * torch.sigmoid(scale * normal)).to(input.dtype)

    found = vector_jacobian(again, [input, weight, bias], [grad])
    return tuple(
        value if wanted else input.new_empty([0]) for value, wanted in zip(found, grad_input_mask, strict=True)
    )


@operator("batch_norm_reduce", source=f"{DOCUMENTS}torch_npu-batch_norm_reduce.md")
def batch_norm_reduce(input: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    kind = working(input)
    dims = [dim for dim in range(input.dim()) if dim != 1]
    wide = input.to(kind)
    return wide.sum(dim=dims), wide.square().sum(dim=dims)


@operator("npu_layernorm_grad", source="PyTorch's native_layer_norm_backward", evidence="assumed")
def npu_layernorm_grad(
    grad_out: torch.Tensor,
    input: torch.Tensor,
    normalized_shape: list[int],
    mean: torch.Tensor,
    rstd: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return torch.ops.aten.native_layer_norm_backward(
        grad_out, input, list(normalized_shape), mean, rstd, weight, bias, [True, True, True]
    )
