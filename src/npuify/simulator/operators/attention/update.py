"""Partial attention results joined, as ring and sequence parallelism need."""

from __future__ import annotations

import torch

from npuify.simulator.operators.checks import require
from npuify.simulator.operators.table import operator

_DOCS = "torch_npu/_op_plugin_docs.py"


@operator("npu_ring_attention_update", source=_DOCS, evidence="package", note="layout SBH")
def npu_ring_attention_update(
    prev_attn_out: torch.Tensor,
    prev_softmax_max: torch.Tensor,
    prev_softmax_sum: torch.Tensor,
    cur_attn_out: torch.Tensor,
    cur_softmax_max: torch.Tensor,
    cur_softmax_sum: torch.Tensor,
    input_layout: str = "SBH",
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    name = "npu_ring_attention_update"
    if input_layout != "SBH":
        raise NotImplementedError(f"torch_npu.{name} is not simulated with input_layout {input_layout!r}")
    largest = torch.maximum(prev_softmax_max, cur_softmax_max)
    before = prev_softmax_sum * torch.exp(prev_softmax_max - largest)
    now = cur_softmax_sum * torch.exp(cur_softmax_max - largest)
    total = before + now
    length, batch, width = prev_attn_out.shape
    heads = largest.shape[1]

    def spread(weight: torch.Tensor) -> torch.Tensor:
        each = weight[..., 0].permute(2, 0, 1)
        return each.repeat_interleave(width // heads, dim=2).reshape(length, batch, width)

    joined = prev_attn_out.float() * spread(before / total) + cur_attn_out.float() * spread(now / total)
    return joined.to(prev_attn_out.dtype), largest, total


@operator("npu_attention_update")
def npu_attention_update(
    lse: list[torch.Tensor], local_out: list[torch.Tensor], update_type: int
) -> tuple[torch.Tensor, torch.Tensor]:
    name = "npu_attention_update"
    require(len(lse) == len(local_out) > 0, name, f"{len(lse)} statistics for {len(local_out)} results")
    joined = torch.logsumexp(torch.stack([value.float() for value in lse]), dim=0)
    weights = [torch.exp(value.float() - joined).unsqueeze(-1) for value in lse]
    out = sum((part.float() * weight for part, weight in zip(local_out, weights, strict=True)), torch.zeros(()))
    total: torch.Tensor = out.to(local_out[0].dtype)
    return total, joined if update_type == 1 else joined.new_empty([0])
