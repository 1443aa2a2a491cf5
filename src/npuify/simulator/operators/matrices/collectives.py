"""Products of matrices that a collective follows or precedes, in one operator: ``hcom`` names the communicator.

The basic forms only: products of half and single precision. With scales, as for quantized weights, they are refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from npuify.simulator.operators.checks import require
from npuify.simulator.operators.table import operator

if TYPE_CHECKING:
    from collections.abc import Callable

_PAGE = "Ascend/op-plugin docs/context/torch_npu-{}.md"


def _group(hcom: str, tensor: torch.Tensor) -> Any:
    """The communicator's group; None where there is nothing to send: shapes without memory."""
    from torch._subclasses.fake_tensor import FakeTensor

    if tensor.is_meta or isinstance(tensor, FakeTensor):
        return None
    from npuify.simulator.communicators import group_of

    return group_of(hcom)


def _product(x1: torch.Tensor, x2: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    product = torch.matmul(x1, x2)
    return product if bias is None else product + bias


def _checked(
    name: str, x1: torch.Tensor, x2: torch.Tensor, comm_turn: int, comm_mode: str | None, reduce_op: str = "sum"
) -> None:
    require(x2.dim() == 2 and x1.shape[-1] == x2.shape[0], name, "x1 and x2 do not fit for a product")
    require(
        x1.dtype is x2.dtype and x1.is_floating_point(), name, "only products of one floating-point type are simulated"
    )
    require(reduce_op == "sum", name, f"reduce_op is {reduce_op}; it supports sum")
    require(comm_turn == 0, name, f"comm_turn is {comm_turn}; it supports 0")
    require(comm_mode in (None, "ai_cpu", "aiv"), name, f"comm_mode is {comm_mode}; it supports ai_cpu and aiv")


def _row(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return operator(name, source=_PAGE.format(name), note="without scales; any number of processes")


@_row("npu_mm_all_reduce_base")
def npu_mm_all_reduce_base(
    x1: torch.Tensor,
    x2: torch.Tensor,
    hcom: str,
    reduce_op: str = "sum",
    bias: torch.Tensor | None = None,
    comm_turn: int = 0,
    comm_mode: str | None = None,
) -> torch.Tensor:
    _checked("npu_mm_all_reduce_base", x1, x2, comm_turn, comm_mode, reduce_op)
    product = _product(x1, x2, bias)
    group = _group(hcom, x1)
    if group is not None:
        group.allreduce([product]).wait()
    return product


@_row("npu_mm_reduce_scatter_base")
def npu_mm_reduce_scatter_base(
    input: torch.Tensor,
    x2: torch.Tensor,
    hcom: str,
    world_size: int,
    reduce_op: str = "sum",
    bias: torch.Tensor | None = None,
    comm_turn: int = 0,
    comm_mode: str | None = None,
) -> torch.Tensor:
    name = "npu_mm_reduce_scatter_base"
    _checked(name, input, x2, comm_turn, comm_mode, reduce_op)
    require(input.dim() == 2, name, "input is a matrix")
    require(input.shape[0] % world_size == 0, name, "the rows of input cannot be shared out over world_size")
    product = _product(input, x2, bias)
    part = product.new_empty((product.shape[0] // world_size, product.shape[1]))
    group = _group(hcom, input)
    if group is not None:
        require(group.size() == world_size, name, f"world_size is {world_size}, but {group.size()} take part")
        group._reduce_scatter_base(part, product).wait()
    return part


@_row("npu_all_gather_base_mm")
def npu_all_gather_base_mm(
    input: torch.Tensor,
    x2: torch.Tensor,
    hcom: str,
    world_size: int,
    bias: torch.Tensor | None = None,
    gather_index: int = 0,
    gather_output: bool = True,
    comm_turn: int = 0,
    comm_mode: str | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    name = "npu_all_gather_base_mm"
    _checked(name, input, x2, comm_turn, comm_mode)
    require(input.dim() == 2, name, "input is a matrix")
    require(gather_index == 0, name, f"gather_index is {gather_index}; it supports 0")
    whole = input.new_empty((input.shape[0] * world_size, input.shape[1]))
    group = _group(hcom, input)
    if group is not None:
        require(group.size() == world_size, name, f"world_size is {world_size}, but {group.size()} take part")
        group._allgather_base(whole, input.contiguous()).wait()
    return _product(whole, x2, bias), whole if gather_output else whole.new_empty(0)
