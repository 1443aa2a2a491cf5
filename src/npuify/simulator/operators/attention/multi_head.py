"""A transformer's attention with its projections, as one operator."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from npuify.simulator.operators.checks import require
from npuify.simulator.operators.layers.dropout import pack, unpack
from npuify.simulator.operators.table import DOCUMENTS, operator

_SOURCE = (
    f"{DOCUMENTS}（beta）torch_npu-npu_multi_head_attention.md; "
    "Ascend/op-plugin@517f2e7d test/test_base_ops/test_multi_head_attention.py"
)
_GRADIENTS = (
    "query",
    "key",
    "value",
    "query_weight",
    "key_weight",
    "value_weight",
    "out_proj_weight",
    "query_bias",
    "key_bias",
    "value_bias",
    "out_proj_bias",
)


def _attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    query_weight: torch.Tensor,
    key_weight: torch.Tensor,
    value_weight: torch.Tensor,
    attn_mask: torch.Tensor,
    out_proj_weight: torch.Tensor,
    query_bias: torch.Tensor | None,
    key_bias: torch.Tensor | None,
    value_bias: torch.Tensor | None,
    out_proj_bias: torch.Tensor | None,
    kept: torch.Tensor,
    heads: int,
    width: int,
    src_len: int,
    tgt_len: int,
    prob: float,
    wide_softmax: bool,
) -> tuple[torch.Tensor, ...]:
    batch = query.shape[0] // tgt_len

    def split(x: torch.Tensor, length: int) -> torch.Tensor:
        return x.reshape(batch, length, heads, width).transpose(1, 2)

    q = split(functional.linear(query, query_weight, query_bias) * width**-0.5, tgt_len)
    k = split(functional.linear(key, key_weight, key_bias), src_len)
    v = split(functional.linear(value, value_weight, value_bias), src_len)
    scores = q @ k.transpose(-1, -2) + attn_mask
    weights = torch.softmax(scores, dim=-1, dtype=torch.float32 if wide_softmax and scores.dtype.itemsize < 4 else None)
    weights = weights.to(scores.dtype)
    dropped = weights * kept / (1.0 - prob) if prob < 1.0 else weights * 0
    context = (dropped @ v).transpose(1, 2).reshape(batch * tgt_len, heads * width)
    return functional.linear(context, out_proj_weight, out_proj_bias), q, k, v, weights, dropped, context


@operator(
    "npu_multi_head_attention",
    source=_SOURCE,
    gradients=_GRADIENTS,
    note="dropout draws other numbers than the device; a given dropout_mask is used",
)
def npu_multi_head_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    query_weight: torch.Tensor,
    key_weight: torch.Tensor,
    value_weight: torch.Tensor,
    attn_mask: torch.Tensor,
    out_proj_weight: torch.Tensor,
    query_bias: torch.Tensor | None,
    key_bias: torch.Tensor | None,
    value_bias: torch.Tensor | None,
    out_proj_bias: torch.Tensor | None,
    dropout_mask: torch.Tensor | None,
    attn_head_num: int,
    attn_dim_per_head: int,
    src_len: int,
    tgt_len: int,
    dropout_prob: float,
    softmax_use_float: bool,
) -> tuple[Any, ...]:
    name = "npu_multi_head_attention"
    for number, of in ((tgt_len, "tgt_len"), (src_len, "src_len"), (attn_head_num, "attn_head_num")):
        require(number % 16 == 0, name, f"{of} {number} is not a multiple of 16")
    require(attn_dim_per_head % 16 == 0, name, f"attn_dim_per_head {attn_dim_per_head} is not a multiple of 16")
    require(query.shape[0] % tgt_len == 0, name, f"{query.shape[0]} rows are not a multiple of tgt_len {tgt_len}")
    batch = query.shape[0] // tgt_len
    shape = torch.Size([batch, attn_head_num, tgt_len, src_len])
    if dropout_mask is not None and dropout_mask.numel():
        kept = unpack(dropout_mask, shape)
    else:
        kept = torch.empty(shape, device=query.device).bernoulli_(1.0 - dropout_prob).to(torch.bool)
    found = _attend(
        query,
        key,
        value,
        query_weight,
        key_weight,
        value_weight,
        attn_mask,
        out_proj_weight,
        query_bias,
        key_bias,
        value_bias,
        out_proj_bias,
        kept,
        attn_head_num,
        attn_dim_per_head,
        src_len,
        tgt_len,
        dropout_prob,
        softmax_use_float,
    )
    return found[0], pack(kept.reshape(-1)), *(part.detach().clone() for part in found[1:])
