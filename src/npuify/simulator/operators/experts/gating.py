"""Which experts a token goes to."""

from __future__ import annotations

import torch

from npuify.simulator.operators.checks import require, working
from npuify.simulator.operators.table import DOCUMENTS, operator


@operator("npu_moe_gating_top_k_softmax")
def npu_moe_gating_top_k_softmax(
    x: torch.Tensor, finished: torch.Tensor | None = None, k: int = 1
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    name = "npu_moe_gating_top_k_softmax"
    require(x.dim() in (2, 3), name, f"x has 2 or 3 dimensions, not {x.dim()}")
    require(0 < k <= x.shape[-1], name, f"k is in (0, {x.shape[-1]}], not {k}")
    values, experts = torch.softmax(x.to(working(x)), dim=-1).topk(k, dim=-1)
    if finished is not None:
        experts = torch.where(finished.unsqueeze(-1), torch.full_like(experts, x.shape[-1]), experts)
    return values.to(x.dtype), experts.to(torch.int32), _row_index(experts)


def _row_index(experts: torch.Tensor) -> torch.Tensor:
    """Numbers of the rows, counted through the first choices of all rows, then the second ones, and so on."""
    k = experts.shape[-1]
    rows = experts.numel() // k
    counted = torch.arange(rows * k, dtype=torch.int32, device=experts.device)
    return counted.reshape(k, rows).t().reshape(experts.shape).contiguous()


@operator(
    "npu_moe_gating_top_k_softmax_v2",
    source=f"{DOCUMENTS}torch_npu-npu_moe_gating_top_k_softmax.md",
    evidence="assumed",
)
def npu_moe_gating_top_k_softmax_v2(
    x: torch.Tensor,
    k: int = 1,
    finished: torch.Tensor | None = None,
    renorm: int | None = 0,
    output_softmax: bool | None = False,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    wide = x.to(working(x))
    if renorm:
        scores, experts = wide.topk(k, dim=-1)
        values = torch.softmax(scores, dim=-1)
    else:
        values, experts = torch.softmax(wide, dim=-1).topk(k, dim=-1)
    if finished is not None:
        experts = torch.where(finished.unsqueeze(-1), torch.full_like(experts, x.shape[-1]), experts)
    softmax = torch.softmax(wide, dim=-1).to(torch.float32) if output_softmax and not renorm else x.new_empty([0])
    return values.to(x.dtype), experts.to(torch.int32), softmax.to(torch.float32)


def gating_top_k(
    x: torch.Tensor,
    k: int,
    bias: torch.Tensor | None,
    k_group: int,
    group_count: int,
    group_select_mode: int,
    norm_type: int,
    factor: float,
    eps: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    name = "npu_moe_gating_top_k"
    require(norm_type in (0, 1), name, f"norm_type is 0 or 1, not {norm_type}")
    require(x.shape[-1] % group_count == 0, name, f"{x.shape[-1]} experts do not fit {group_count} groups")
    wide = x.to(working(x))
    normal = torch.softmax(wide, dim=-1) if norm_type == 0 else torch.sigmoid(wide)
    chosen_by = normal if bias is None else normal + bias.to(normal.dtype)
    if group_count > 1:
        groups = chosen_by.reshape(*chosen_by.shape[:-1], group_count, -1)
        if group_select_mode == 0:
            rank = groups.amax(dim=-1)
        else:
            rank = groups.topk(min(2, groups.shape[-1]), dim=-1).values.sum(dim=-1)
        best = rank.sort(dim=-1, descending=True, stable=True).indices[..., :k_group]
        keep = torch.zeros_like(rank, dtype=torch.bool).scatter(-1, best, True)
        chosen_by = groups.masked_fill(~keep.unsqueeze(-1), float("-inf")).reshape(chosen_by.shape)
    experts = chosen_by.sort(dim=-1, descending=True, stable=True).indices[..., :k]
    values = normal.gather(-1, experts)
    if norm_type == 1:
        values = values / (values.sum(dim=-1, keepdim=True) + eps)
    return (values * factor).to(x.dtype), experts.to(torch.int32), normal.to(torch.float32)


@operator("npu_moe_gating_top_k", gradients=("x",), note="renorm 0 only")
def npu_moe_gating_top_k(
    x: torch.Tensor,
    k: int,
    bias: torch.Tensor | None = None,
    k_group: int = 1,
    group_count: int = 1,
    group_select_mode: int = 0,
    norm_type: int = 0,
    out_flag: bool = False,
    routed_scaling_factor: float = 1.0,
    eps: float = 1e-20,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return gating_top_k(x, k, bias, k_group, group_count, group_select_mode, norm_type, routed_scaling_factor, eps)
