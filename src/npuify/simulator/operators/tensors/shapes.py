"""Operators that move elements without computing."""

from __future__ import annotations

import torch

from npuify.simulator.operators.checks import require
from npuify.simulator.operators.table import DERIVATIVES, DOCUMENTS, operator

_BETA = f"{DOCUMENTS}（beta）torch_npu-"


@operator(
    "npu_confusion_transpose",
    source=f"{_BETA}npu_confusion_transpose.md",
    gradients=("self",),
    formula=lambda a, r, g: (
        torch.ops.npu.npu_confusion_transpose_backward(g[0], a.perm, list(a.self.shape), not a.transpose_first),
    ),
)
def npu_confusion_transpose(
    self: torch.Tensor, perm: list[int], shape: list[int], transpose_first: bool
) -> torch.Tensor:
    if transpose_first:
        return self.permute(list(perm)).contiguous().view(list(shape)).clone()
    return self.contiguous().view(list(shape)).permute(list(perm)).contiguous().clone()


@operator("npu_confusion_transpose_backward", source=DERIVATIVES)
def npu_confusion_transpose_backward(
    grad: torch.Tensor, perm: list[int], shape: list[int], transpose_first: bool
) -> torch.Tensor:
    # ``shape`` is that of forward's input, and ``transpose_first`` is the opposite of forward's.
    inverse = [list(perm).index(place) for place in range(len(perm))]
    if transpose_first:
        return grad.permute(inverse).contiguous().view(list(shape)).clone()
    turned = [shape[place] for place in perm]
    return grad.contiguous().view(turned).permute(inverse).contiguous().clone()


@operator("npu_transpose", source=f"{_BETA}npu_transpose.md")
def npu_transpose(self: torch.Tensor, perm: list[int], require_contiguous: bool = True) -> torch.Tensor:
    return self.permute(list(perm)).clone(memory_format=torch.contiguous_format)


@operator("npu_broadcast", source=f"{_BETA}npu_broadcast.md")
def npu_broadcast(self: torch.Tensor, size: list[int]) -> torch.Tensor:
    return self.expand(list(size)).clone(memory_format=torch.contiguous_format)


@operator("npu_reshape", source=f"{_BETA}npu_reshape.md")
def npu_reshape(self: torch.Tensor, shape: list[int], can_refresh: bool = False) -> torch.Tensor:
    return self.reshape(list(shape)).clone()


@operator("npu_slice", source=f"{_BETA}npu_slice.md")
def npu_slice(self: torch.Tensor, offsets: list[int], size: list[int]) -> torch.Tensor:
    require(len(offsets) == self.dim() == len(size), "npu_slice", "offsets and size name each dimension")
    result = self
    for dim, (start, length) in enumerate(zip(offsets, size, strict=True)):
        result = result.narrow(dim, start, self.shape[dim] - start if length == -1 else length)
    return result.clone(memory_format=torch.contiguous_format)


@operator("npu_pad", source=f"{_BETA}npu_pad.md")
def npu_pad(input: torch.Tensor, paddings: list[int]) -> torch.Tensor:
    require(len(paddings) == 2 * input.dim(), "npu_pad", f"{input.dim()} dimensions want {2 * input.dim()} paddings")
    # The operator lists the first dimension first; PyTorch lists the last one first.
    pairs = [paddings[2 * dim : 2 * dim + 2] for dim in range(input.dim())]
    return torch.nn.functional.pad(input, [size for pair in reversed(pairs) for size in pair])


@operator("npu_stride_copy", source="PyTorch's as_strided, copied", evidence="assumed")
def npu_stride_copy(self: torch.Tensor, shape: list[int], stride: list[int], storage_offset: int) -> torch.Tensor:
    return self.as_strided(list(shape), list(stride), int(storage_offset)).clone(memory_format=torch.contiguous_format)


@operator("npu_view_copy", source="PyTorch's copy_", evidence="assumed")
def npu_view_copy(self: torch.Tensor, other: torch.Tensor, non_blocking: bool) -> torch.Tensor:
    return self.copy_(other, non_blocking=non_blocking)


@operator("copy_memory_", source=f"{_BETA}copy_memory_.md")
def copy_memory_(self: torch.Tensor, src: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    require(self.dtype == src.dtype, "copy_memory_", f"types differ: {self.dtype} and {src.dtype}")
    return self.copy_(src, non_blocking=non_blocking)


@operator("one_", source=f"{_BETA}one_.md")
def one_(self: torch.Tensor) -> torch.Tensor:
    return self.fill_(1)


@operator("npu_indexing", source=f"{_BETA}npu_indexing.md")
def npu_indexing(
    self: torch.Tensor,
    begin: list[int],
    end: list[int],
    strides: list[int],
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> torch.Tensor:
    index: list[object] = []
    for place, (start, stop, step) in enumerate(zip(begin, end, strides, strict=True)):
        bit = 1 << place
        if ellipsis_mask & bit:
            index.append(Ellipsis)
        elif new_axis_mask & bit:
            index.append(None)
        elif shrink_axis_mask & bit:
            index.append(start)
        else:
            require(step > 0, "npu_indexing", f"the stride {step} is not positive")
            index.append(slice(None if begin_mask & bit else start, None if end_mask & bit else stop, step))
    return self[tuple(index)].clone(memory_format=torch.contiguous_format)
