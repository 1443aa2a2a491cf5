"""Tokens sorted by expert, for inference."""

from __future__ import annotations

import torch

from npuify.simulator.operators.checks import require
from npuify.simulator.operators.table import operator


@operator("npu_moe_init_routing")
def npu_moe_init_routing(
    x: torch.Tensor, row_idx: torch.Tensor, expert_idx: torch.Tensor, active_num: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    name = "npu_moe_init_routing"
    require(x.dim() == 2 and expert_idx.dim() == 2, name, "x and expert_idx have 2 dimensions")
    require(row_idx.shape == expert_idx.shape, name, "row_idx and expert_idx differ in shape")
    rows, k = expert_idx.shape
    experts, order = expert_idx.reshape(-1).sort(stable=True)
    sources = row_idx.reshape(-1)[order].long()
    places = torch.empty_like(sources).scatter(0, sources, torch.arange(rows * k, device=x.device))
    active = min(active_num, rows) * k
    return x[sources[:active] % rows], places.to(torch.int32), experts.to(torch.int32)


@operator("npu_moe_compute_expert_tokens")
def npu_moe_compute_expert_tokens(sorted_expert_for_source_row: torch.Tensor, num_expert: int) -> torch.Tensor:
    experts = torch.arange(num_expert, device=sorted_expert_for_source_row.device)
    found = torch.searchsorted(sorted_expert_for_source_row.long().contiguous(), experts, right=True)
    return found.to(sorted_expert_for_source_row.dtype)


@operator("npu_moe_finalize_routing", note="drop_pad_mode 0 and 1")
def npu_moe_finalize_routing(
    expanded_permuted_rows: torch.Tensor,
    skip1: torch.Tensor | None,
    skip2: torch.Tensor | None,
    bias: torch.Tensor | None,
    scales: torch.Tensor | None,
    expanded_src_to_dst_row: torch.Tensor,
    export_for_source_row: torch.Tensor | None,
    drop_pad_mode: int | None = 0,
) -> torch.Tensor:
    name = "npu_moe_finalize_routing"
    require(drop_pad_mode in (None, 0, 1), name, f"drop_pad_mode {drop_pad_mode} is not simulated")
    width = expanded_permuted_rows.shape[-1]
    rows = expanded_permuted_rows.reshape(-1, width)
    k = 1 if scales is None else scales.shape[1]
    count = expanded_src_to_dst_row.shape[0] // k
    out = torch.zeros((count, width), dtype=torch.float32, device=rows.device)
    for skip in (skip1, skip2):
        if skip is not None:
            out = out + skip
    for choice in range(k):
        place = expanded_src_to_dst_row[choice * count : (choice + 1) * count].long()
        value = rows[place.clamp(min=0)].float().masked_fill((place < 0).unsqueeze(-1), 0.0)
        if bias is not None and export_for_source_row is not None:
            value = value + bias[export_for_source_row[:, choice].long()]
        out = out + (value if scales is None else value * scales[:, choice : choice + 1])
    return out.to(expanded_permuted_rows.dtype)
