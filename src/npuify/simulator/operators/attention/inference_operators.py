"""Attention for inference, as programs call it: prompt, incremental, and the operator that joins them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from npuify.simulator.operators.attention.core import UNBOUNDED
from npuify.simulator.operators.attention.inference import INPUTS, Request, infer
from npuify.simulator.operators.checks import require
from npuify.simulator.operators.table import DOCUMENTS, operator

if TYPE_CHECKING:
    from collections.abc import Sequence


@operator("npu_prompt_flash_attention", note="without quantisation")
def npu_prompt_flash_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    padding_mask: torch.Tensor | None = None,
    atten_mask: torch.Tensor | None = None,
    pse_shift: torch.Tensor | None = None,
    actual_seq_lengths: Sequence[int] | None = None,
    num_heads: int = 1,
    scale_value: float = 1.0,
    pre_tokens: int = UNBOUNDED,
    next_tokens: int = 0,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    actual_seq_lengths_kv: Sequence[int] | None = None,
    sparse_mode: int = 0,
) -> torch.Tensor:
    request = Request(
        "npu_prompt_flash_attention",
        input_layout,
        num_heads,
        num_key_value_heads,
        scale_value,
        atten_mask,
        pse_shift,
        sparse_mode,
        pre_tokens,
        next_tokens,
        actual_seq_lengths,
        actual_seq_lengths_kv,
        None,
        0,
    )
    return infer(query, key, value, request)[0]


@operator("npu_incre_flash_attention", note="without quantisation")
def npu_incre_flash_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    padding_mask: torch.Tensor | None = None,
    atten_mask: torch.Tensor | None = None,
    pse_shift: torch.Tensor | None = None,
    actual_seq_lengths: Sequence[int] | None = None,
    block_table: torch.Tensor | None = None,
    num_heads: int = 1,
    scale_value: float = 1.0,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    block_size: int = 0,
    inner_precise: int = 1,
) -> torch.Tensor:
    name = "npu_incre_flash_attention"
    length = query.shape[2 if input_layout == "BNSD" else 1]
    require(length == 1, name, f"queries have the length 1, not {length}")
    request = Request(
        name,
        input_layout,
        num_heads,
        num_key_value_heads,
        scale_value,
        atten_mask,
        pse_shift,
        0,
        UNBOUNDED,
        UNBOUNDED,
        None,
        actual_seq_lengths,
        block_table,
        block_size,
    )
    return infer(query, key, value, request)[0]


def _fused(
    name: str,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    query_rope: torch.Tensor | None,
    key_rope: torch.Tensor | None,
    request: Request,
    with_lse: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    if query_rope is not None and key_rope is not None:
        require(INPUTS.get(request.layout, ("",))[0] != "BSH", name, "positions apart do not go with layout BSH")
        query = torch.cat([query, query_rope], dim=-1)
        key = torch.cat([key, key_rope], dim=-1)
    output, lse = infer(query, key, value, request)
    return output, lse if with_lse else query.new_empty([0], dtype=torch.float32)


@operator("npu_fused_infer_attention_score", note="without quantisation, left padding and shared prefixes")
def npu_fused_infer_attention_score(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    pse_shift: torch.Tensor | None = None,
    atten_mask: torch.Tensor | None = None,
    actual_seq_lengths: Sequence[int] | None = None,
    actual_seq_lengths_kv: Sequence[int] | None = None,
    block_table: torch.Tensor | None = None,
    query_rope: torch.Tensor | None = None,
    key_rope: torch.Tensor | None = None,
    num_heads: int = 1,
    scale: float = 1.0,
    pre_tokens: int = UNBOUNDED,
    next_tokens: int = UNBOUNDED,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    sparse_mode: int = 0,
    inner_precise: int = 0,
    block_size: int = 0,
    softmax_lse_flag: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    name = "npu_fused_infer_attention_score"
    request = Request(
        name,
        input_layout,
        num_heads,
        num_key_value_heads,
        scale,
        atten_mask,
        pse_shift,
        sparse_mode,
        pre_tokens,
        next_tokens,
        actual_seq_lengths,
        actual_seq_lengths_kv,
        block_table,
        block_size,
    )
    return _fused(name, query, key, value, query_rope, key_rope, request, softmax_lse_flag)


@operator(
    "npu_fused_infer_attention_score_v2",
    source=f"{DOCUMENTS}torch_npu-npu_fused_infer_attention_score_v2.md",
    note="without quantisation and sinks",
)
def npu_fused_infer_attention_score_v2(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    query_rope: torch.Tensor | None = None,
    key_rope: torch.Tensor | None = None,
    pse_shift: torch.Tensor | None = None,
    atten_mask: torch.Tensor | None = None,
    actual_seq_qlen: Sequence[int] | None = None,
    actual_seq_kvlen: Sequence[int] | None = None,
    block_table: torch.Tensor | None = None,
    num_query_heads: int = 1,
    num_key_value_heads: int = 0,
    softmax_scale: float = 1.0,
    pre_tokens: int = UNBOUNDED,
    next_tokens: int = UNBOUNDED,
    input_layout: str = "BSH",
    sparse_mode: int = 0,
    block_size: int = 0,
    inner_precise: int = 0,
    return_softmax_lse: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    name = "npu_fused_infer_attention_score_v2"
    request = Request(
        name,
        input_layout,
        num_query_heads,
        num_key_value_heads,
        softmax_scale,
        atten_mask,
        pse_shift,
        sparse_mode,
        pre_tokens,
        next_tokens,
        actual_seq_qlen,
        actual_seq_kvlen,
        block_table,
        block_size,
    )
    return _fused(name, query, key, value, query_rope, key_rope, request, return_softmax_lse)
