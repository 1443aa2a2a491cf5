"""Tokens gathered by expert and put back, for training."""

from __future__ import annotations

from typing import Any

import torch

from npuify.simulator.operators.checks import is_abstract, require
from npuify.simulator.operators.table import DERIVATIVES, operator

_TESTS = "Ascend/op-plugin@517f2e7d test/test_custom_ops/"
_PERMUTE = f"torch_npu/_op_plugin_docs.py; {_TESTS}test_npu_moe_token_permute_and_unpermute.py"
_MAP = f"{_TESTS}test_npu_moe_token_permute_with_routing_map.py"


def _order(indices: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The order that sorts all choices by expert, and the place of each choice in it."""
    order = indices.reshape(-1).sort(stable=True).indices
    return order, order.sort(stable=True).indices


@operator(
    "npu_moe_token_permute",
    source=_PERMUTE,
    evidence="package",
    gradients=("tokens",),
    note="sorted_indices is int32",
)
def npu_moe_token_permute(
    tokens: torch.Tensor, indices: torch.Tensor, num_out_tokens: int | None = None, padded_mode: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    name = "npu_moe_token_permute"
    require(tokens.dim() == 2, name, f"tokens have 2 dimensions, not {tokens.dim()}")
    require(indices.dim() in (1, 2), name, f"indices have 1 or 2 dimensions, not {indices.dim()}")
    require(not padded_mode, name, "padded_mode is not supported")
    k = 1 if indices.dim() == 1 else indices.shape[1]
    order, places = _order(indices)
    wanted = num_out_tokens or 0
    count = min(wanted, indices.numel()) if wanted > 0 else indices.numel() + wanted
    return tokens[order[:count] // k], places.to(torch.int32)


def unpermute(permuted: torch.Tensor, places: torch.Tensor, probs: torch.Tensor | None) -> torch.Tensor:
    k = 1 if probs is None else probs.shape[1]
    rows = places.shape[0] // k
    kept = places < permuted.shape[0]
    values = permuted[places.clamp(max=permuted.shape[0] - 1).long()]
    values = values.masked_fill(~kept.unsqueeze(-1), 0.0).reshape(rows, k, -1)
    if probs is not None:
        values = values * probs.unsqueeze(-1).to(values.dtype)
    return values.sum(dim=1).to(permuted.dtype)


@operator("npu_moe_token_unpermute", source=_PERMUTE, evidence="package", gradients=("permuted_tokens", "probs"))
def npu_moe_token_unpermute(
    permuted_tokens: torch.Tensor,
    sorted_indices: torch.Tensor,
    probs: torch.Tensor | None = None,
    padded_mode: bool = False,
    restore_shape: list[int] | None = None,
) -> torch.Tensor:
    require(not padded_mode, "npu_moe_token_unpermute", "padded_mode is not supported")
    return unpermute(permuted_tokens, sorted_indices, probs)


@operator("_npu_moe_token_unpermute", source=_PERMUTE, evidence="package", gradients=("permuted_tokens", "probs"))
def _npu_moe_token_unpermute(
    permuted_tokens: torch.Tensor,
    sorted_indices: torch.Tensor,
    probs: torch.Tensor | None = None,
    padded_mode: bool = False,
    restore_shape: list[int] | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    require(not padded_mode, "_npu_moe_token_unpermute", "padded_mode is not supported")
    return unpermute(permuted_tokens, sorted_indices, probs), permuted_tokens.clone()


@operator("npu_moe_token_permute_grad", source=DERIVATIVES)
def npu_moe_token_permute_grad(
    tokens: torch.Tensor,
    grad_permuted_tokens: torch.Tensor,
    indices: torch.Tensor,
    sorted_indices: torch.Tensor,
    padded_mode: bool = False,
) -> torch.Tensor:
    k = 1 if indices.dim() == 1 else indices.shape[1]
    return _collect(grad_permuted_tokens, sorted_indices, tokens.shape[0], k, tokens.dtype)


def _collect(gradient: torch.Tensor, places: torch.Tensor, rows: int, k: int, dtype: torch.dtype) -> torch.Tensor:
    kept = places < gradient.shape[0]
    values = gradient[places.clamp(max=gradient.shape[0] - 1).long()].masked_fill(~kept.unsqueeze(-1), 0.0)
    return values.reshape(rows, k, -1).sum(dim=1).to(dtype)


@operator("npu_moe_token_permute_grad_v2", source=DERIVATIVES)
def npu_moe_token_permute_grad_v2(
    grad_permuted_tokens: torch.Tensor,
    sorted_indices: torch.Tensor,
    tokens_size_0: int,
    tokens_dtype: torch.dtype,
    num_topK: int,  # noqa: N803
    padded_mode: bool = False,
) -> torch.Tensor:
    return _collect(grad_permuted_tokens, sorted_indices, tokens_size_0, num_topK, tokens_dtype)


@operator("npu_moe_token_unpermute_grad", source=DERIVATIVES)
def npu_moe_token_unpermute_grad(
    permuted_tokens: torch.Tensor,
    grad_unpermuted_tokens: torch.Tensor,
    sorted_indices: torch.Tensor,
    probs: torch.Tensor | None = None,
    padded_mode: bool = False,
    restore_shape: list[int] | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    k = 1 if probs is None else probs.shape[1]
    spread = grad_unpermuted_tokens.repeat_interleave(k, dim=0)
    kept = sorted_indices < permuted_tokens.shape[0]
    places = sorted_indices.clamp(max=permuted_tokens.shape[0] - 1).long()
    shared = spread if probs is None else spread * probs.reshape(-1, 1).to(spread.dtype)
    shared = shared.masked_fill(~kept.unsqueeze(-1), 0.0)
    of_tokens = torch.zeros_like(permuted_tokens).index_add_(0, places, shared.to(permuted_tokens.dtype))
    if probs is None:
        return of_tokens, permuted_tokens.new_empty([0])
    own = (permuted_tokens[places] * spread).sum(dim=-1).masked_fill(~kept, 0.0)
    return of_tokens, own.reshape(probs.shape).to(probs.dtype)


@operator(
    "npu_moe_token_permute_with_routing_map",
    source=_MAP,
    evidence="package",
    gradients=("tokens", "probs"),
    outputs=(0, 1),
)
def npu_moe_token_permute_with_routing_map(
    tokens: torch.Tensor,
    routing_map: torch.Tensor,
    probs: torch.Tensor | None = None,
    num_out_tokens: int | None = None,
    drop_and_pad: bool = False,
) -> tuple[Any, ...]:
    count, experts = routing_map.shape
    wanted = tokens.shape[0] if num_out_tokens is None else num_out_tokens
    length = wanted // (experts if drop_and_pad else count) * (experts if drop_and_pad else count)
    if is_abstract(tokens, routing_map):
        own = tokens.new_empty([length]) if probs is None else probs.new_empty([length])
        return tokens.new_empty((length, tokens.shape[1])), own, tokens.new_empty([length], dtype=torch.int32)
    by_expert = routing_map.bool().t().contiguous()
    if drop_and_pad:
        capacity = wanted // experts
        chosen = by_expert.to(torch.int8).sort(dim=-1, descending=True, stable=True).indices[:, :capacity]
        owner = chosen.reshape(-1)
        expert = torch.arange(experts, device=tokens.device).repeat_interleave(capacity)
        places = owner
    else:
        expert, owner = by_expert.nonzero(as_tuple=True)
        places = owner.sort(stable=True).indices
    taken = tokens[owner]
    own = tokens.new_empty([0]) if probs is None else probs[owner, expert]
    return taken, own, places.to(torch.int32)
