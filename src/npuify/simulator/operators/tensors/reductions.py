"""Largest, smallest and sorted elements."""

from __future__ import annotations

import torch

from npuify.simulator.operators.checks import require
from npuify.simulator.operators.table import DERIVATIVES, DOCUMENTS, operator

_BETA = f"{DOCUMENTS}（beta）torch_npu-"


def _place_back(grad: torch.Tensor, dim: int, indices: torch.Tensor, sizes: list[int], keepdim: bool) -> torch.Tensor:
    if not keepdim and len(sizes):
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return grad.new_zeros(list(sizes)).scatter_(dim, indices.long(), grad)


@operator(
    "npu_max.dim",
    source=f"{_BETA}npu_max.md",
    gradients=("self",),
    formula=lambda a, r, g: (torch.ops.npu.npu_max_backward(g[0], a.dim, r[1], list(a.self.shape), a.keepdim),),
)
def npu_max(self: torch.Tensor, dim: int, keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    values, indices = self.max(dim=dim, keepdim=keepdim)
    return values, indices.to(torch.int32)


@operator("npu_max_backward", source=DERIVATIVES)
def npu_max_backward(
    grad: torch.Tensor, dim: int, indices: torch.Tensor, sizes: list[int], keepdim: bool
) -> torch.Tensor:
    return _place_back(grad, dim, indices, sizes, keepdim)


@operator(
    "npu_min.dim",
    source=f"{_BETA}npu_min.md",
    gradients=("self",),
    formula=lambda a, r, g: (torch.ops.npu.npu_min_backward(g[0], a.dim, r[1], list(a.self.shape), a.keepdim),),
)
def npu_min(self: torch.Tensor, dim: int, keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    values, indices = self.min(dim=dim, keepdim=keepdim)
    return values, indices.to(torch.int32)


@operator("npu_min_backward", source=DERIVATIVES)
def npu_min_backward(
    grad: torch.Tensor, dim: int, indices: torch.Tensor, sizes: list[int], keepdim: bool
) -> torch.Tensor:
    return _place_back(grad, dim, indices, sizes, keepdim)


@operator("npu_sort_v2", source=f"{_BETA}npu_sort_v2.md")
def npu_sort_v2(self: torch.Tensor, dim: int = -1, descending: bool = False) -> torch.Tensor:
    require(dim in (-1, self.dim() - 1), "npu_sort_v2", f"only the last dimension can be sorted, not {dim}")
    return self.sort(dim=dim, descending=descending).values


@operator(
    "npu_one_hot",
    source=f"{_BETA}npu_one_hot.md",
    note="the result is float32, as in the documentation's example",
)
def npu_one_hot(
    self: torch.Tensor, num_classes: int = -1, depth: int = 1, on_value: float = 1, off_value: float = 0
) -> torch.Tensor:
    axis = num_classes if num_classes >= 0 else self.dim() + 1 + num_classes
    require(0 <= axis <= self.dim(), "npu_one_hot", f"there is no axis {num_classes} for {self.dim()} dimensions")
    require(depth >= 0, "npu_one_hot", f"depth {depth} is negative")
    classes = torch.arange(depth, device=self.device, dtype=self.dtype)
    hit = self.unsqueeze(-1) == classes
    values = torch.where(hit, float(on_value), float(off_value)).to(torch.float32)
    return values.movedim(-1, axis).contiguous()


@operator("npu_masked_fill_range", source="torch_npu/_op_plugin_docs.py", evidence="package")
def npu_masked_fill_range(
    self: torch.Tensor, start: torch.Tensor, end: torch.Tensor, value: torch.Tensor, axis: int = -1
) -> torch.Tensor:
    name = "npu_masked_fill_range"
    require(start.dim() == 2 and start.shape == end.shape, name, "start and end are (number, rows)")
    require(axis in (-1, self.dim() - 1), name, f"only the last axis can be filled, not {axis}")
    places = torch.arange(self.shape[-1], device=self.device)
    result = self.clone()
    flat = result.reshape(-1, self.shape[-1])
    for number in range(start.shape[0]):
        inside = (places >= start[number].unsqueeze(-1)) & (places < end[number].unsqueeze(-1))
        flat = torch.where(inside, value[number].to(self.dtype), flat)
    return flat.reshape(self.shape)
