"""Reading at indices."""

from __future__ import annotations

import torch

from npuify.simulator.operators.checks import require
from npuify.simulator.operators.table import DERIVATIVES, operator


@operator(
    "npu_gather_sparse_index",
    gradients=("input",),
    formula=lambda a, r, g: (torch.ops.npu.npu_gather_sparse_index_backward(g[0], list(a.input.shape), a.index),),
)
def npu_gather_sparse_index(input: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    require(index.dtype in (torch.int32, torch.int64), "npu_gather_sparse_index", f"index of type {index.dtype}")
    return input[index.long()]


@operator("npu_gather_sparse_index_backward", source=DERIVATIVES)
def npu_gather_sparse_index_backward(grad: torch.Tensor, self_sizes: list[int], index: torch.Tensor) -> torch.Tensor:
    rows = grad.reshape(-1, *self_sizes[1:])
    return grad.new_zeros(list(self_sizes)).index_add_(0, index.long().reshape(-1), rows)


@operator("npu_gather_backward", source=DERIVATIVES)
def npu_gather_backward(
    grad: torch.Tensor, self_size: list[int], dim: int, index: torch.Tensor, sparse_grad: bool
) -> torch.Tensor:
    return grad.new_zeros(list(self_size)).scatter_add_(dim, index.long(), grad)


@operator("repeat_interleave_backward_int", source=DERIVATIVES)
def repeat_interleave_backward_int(
    grad: torch.Tensor, self: torch.Tensor, repeats: int, dim: int | None = None
) -> torch.Tensor:
    if dim is None:
        return grad.reshape(self.numel(), repeats).sum(-1).reshape(self.shape)
    axis = dim % self.dim()
    shape = [*self.shape[: axis + 1], repeats, *self.shape[axis + 1 :]]
    return grad.reshape(shape).sum(axis + 1)


@operator("repeat_interleave_backward_tensor", source=DERIVATIVES)
def repeat_interleave_backward_tensor(
    grad: torch.Tensor, self: torch.Tensor, repeats: torch.Tensor, dim: int | None = None
) -> torch.Tensor:
    axis = 0 if dim is None else dim % self.dim()
    size = self.numel() if dim is None else self.shape[axis]
    owner = torch.repeat_interleave(
        torch.arange(size, device=grad.device), repeats.expand(size).long(), output_size=grad.shape[axis]
    )
    shape = [size] if dim is None else list(self.shape)
    return grad.new_zeros(shape).index_add_(axis, owner, grad).reshape(self.shape)
