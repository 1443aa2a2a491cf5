"""Products of matrices."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from npuify.simulator.operators.checks import require
from npuify.simulator.operators.layers.activations import fast_gelu, gelu, silu
from npuify.simulator.operators.table import DERIVATIVES, DOCUMENTS, operator

_BETA = f"{DOCUMENTS}（beta）torch_npu-"


def _linear_formula(a: Any, r: tuple[Any, ...], g: tuple[Any, ...]) -> tuple[Any, ...]:
    of_input, of_weight = torch.ops.npu.npu_linear_backward(g[0], a.input, a.weight)
    of_bias = g[0].reshape(-1, g[0].shape[-1]).sum(0) if a.bias is not None else None
    return of_input, of_weight, of_bias


@operator("npu_linear", source=f"{_BETA}npu_linear.md", gradients=("input", "weight", "bias"), formula=_linear_formula)
def npu_linear(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    require(input.shape[-1] == weight.shape[-1], "npu_linear", "input and weight differ in their last dimension")
    return functional.linear(input, weight, bias)


@operator("npu_linear_backward", source=DERIVATIVES)
def npu_linear_backward(
    grad: torch.Tensor, input: torch.Tensor, weight: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    flat = grad.reshape(-1, grad.shape[-1])
    return grad @ weight, flat.t() @ input.reshape(-1, input.shape[-1])


def _summed(gradient: torch.Tensor, size: list[int]) -> torch.Tensor:
    """A gradient summed over the dimensions that were broadcast."""
    while gradient.dim() > len(size):
        gradient = gradient.sum(0)
    for dim, length in enumerate(size):
        if length == 1 and gradient.shape[dim] != 1:
            gradient = gradient.sum(dim, keepdim=True)
    return gradient


@operator(
    "npu_bmmV2",
    source=f"{_BETA}npu_bmmV2.md",
    gradients=("self", "mat2"),
    formula=lambda a, r, g: (
        torch.ops.npu.npu_bmm_v2_mat1_backward(g[0], a.self, a.mat2, list(a.self.shape)),
        torch.ops.npu.npu_bmm_v2_mat2_backward(g[0], a.self, a.mat2, list(a.mat2.shape)),
    ),
)
def npu_bmmV2(self: torch.Tensor, mat2: torch.Tensor, output_sizes: list[int]) -> torch.Tensor:  # noqa: N802
    product = torch.matmul(self, mat2)
    return _summed(product, list(output_sizes)) if len(output_sizes) else product


@operator("npu_bmm_v2_mat1_backward", source=DERIVATIVES)
def npu_bmm_v2_mat1_backward(
    grad: torch.Tensor, mat1: torch.Tensor, mat2: torch.Tensor, size: list[int]
) -> torch.Tensor:
    return _summed(torch.matmul(grad, mat2.transpose(-1, -2)), list(size))


@operator("npu_bmm_v2_mat2_backward", source=DERIVATIVES)
def npu_bmm_v2_mat2_backward(
    grad: torch.Tensor, mat1: torch.Tensor, mat2: torch.Tensor, size: list[int]
) -> torch.Tensor:
    return _summed(torch.matmul(mat1.transpose(-1, -2), grad), list(size))


@operator("npu_transpose_batchmatmul", note="without scale")
def npu_transpose_batchmatmul(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    perm_x1: list[int] | None = None,
    perm_x2: list[int] | None = None,
    perm_y: list[int] | None = None,
    batch_split_factor: int | None = 1,
) -> torch.Tensor:
    left = input.permute(list(perm_x1)) if perm_x1 else input
    right = weight.permute(list(perm_x2)) if perm_x2 else weight
    product = left @ right
    if bias is not None:
        product = product + bias
    if perm_y:
        product = product.permute(list(perm_y))
    factor = batch_split_factor or 1
    if factor > 1:
        rows, batch, columns = product.shape
        product = product.reshape(rows, factor, batch * columns // factor).transpose(0, 1)
    return product.contiguous()


def activate(x: torch.Tensor, name: str, operator: str) -> torch.Tensor:
    """The activation of a feed-forward network, by the documentation's name."""
    if name == "relu":
        return functional.relu(x)
    if name == "gelu":
        return gelu(x, "none")
    if name == "fastgelu":
        return fast_gelu(x)
    if name == "silu":
        return silu(x)
    require(name in ("geglu", "swiglu", "reglu"), operator, f"activation {name!r} is not supported")
    left, right = x.chunk(2, dim=-1)
    return activate(left, {"geglu": "gelu", "swiglu": "silu", "reglu": "relu"}[name], operator) * right


@operator("npu_ffn", note="without quantisation")
def npu_ffn(
    x: torch.Tensor,
    weight1: torch.Tensor,
    weight2: torch.Tensor,
    activation: str,
    expert_tokens: list[int] | None = None,
    expert_tokens_index: list[int] | None = None,
    bias1: torch.Tensor | None = None,
    bias2: torch.Tensor | None = None,
    inner_precise: int | None = None,
) -> torch.Tensor:
    name = "npu_ffn"
    require(x.is_floating_point(), name, f"x of type {x.dtype} is not simulated")

    def network(rows: torch.Tensor, place: int | None) -> torch.Tensor:
        def own(value: torch.Tensor | None) -> torch.Tensor | None:
            return value if value is None or place is None else value[place]

        first, second, shift, end = own(weight1), own(weight2), own(bias1), own(bias2)
        assert first is not None and second is not None
        hidden = rows @ first
        hidden = hidden if shift is None else hidden + shift.to(hidden.dtype)
        hidden = activate(hidden, activation, name) @ second
        return hidden if end is None else hidden + end.to(hidden.dtype)

    counts = expert_tokens
    if expert_tokens_index:
        counts = [end - start for start, end in zip([0, *expert_tokens_index], expert_tokens_index, strict=False)]
    if not counts:
        return network(x, None)
    require(x.dim() == 2, name, "experts want x of two dimensions")
    require(sum(counts) == x.shape[0], name, f"experts take {sum(counts)} rows of {x.shape[0]}")
    parts = [network(rows, place) for place, rows in enumerate(x.split(list(counts)))]
    return torch.cat(parts)
