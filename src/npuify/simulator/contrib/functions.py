"""Functions of ``torch_npu.contrib.function`` on any tensors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_FUSED_HEIGHTS = (128, 256, 384, 512)
_FUSED_HEADS = 32


def roll(x: torch.Tensor, shifts: Sequence[int], dims: Sequence[int]) -> torch.Tensor:
    """Shift an image's rows and columns, [N, H, W, C], as Swin transformers do.

    The package takes the second and third dimension whatever ``dims`` says; so does this.

    Raises:
        ValueError: ``x`` has not four dimensions, or there are not two shifts and two dimensions.
    """
    for what, found, wanted in (("x.dim()", x.dim(), 4), ("len(shifts)", len(shifts), 2), ("len(dims)", len(dims), 2)):
        if found != wanted:
            raise ValueError(f"Expected {what} == {wanted}, got {found}")
    return torch.roll(x, tuple(shifts), (1, 2))


def matmul_transpose(tensor1: torch.Tensor, tensor2: torch.Tensor) -> torch.Tensor:
    """``tensor1 @ tensor2.transpose(-2, -1)``: the scores of attention."""
    return torch.matmul(tensor1, tensor2.transpose(-2, -1))


def npu_fast_condition_index_put(x: torch.Tensor, condition: torch.Tensor, value: float) -> torch.Tensor:
    """A copy of ``x`` with ``value`` where ``condition`` holds.

    Raises:
        TypeError: ``condition`` is not bool.
    """
    if condition.dtype is not torch.bool:
        raise TypeError("Expected condition.dtype in [torch.bool]")
    return torch.where(condition, torch.zeros_like(x) + value, x)


def dropout_with_byte_mask(
    input1: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> torch.Tensor:
    """Dropout that draws one byte for each element.

    Raises:
        ValueError: ``p`` is not a probability, or ``inplace`` is asked for.
    """
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if inplace:
        raise ValueError("dropout_with_byte_mask does not work in place")
    if not training:
        return input1
    results: Any = torch.ops.npu._dropout_with_byte_mask(input1, p)
    dropped: torch.Tensor = results[0]
    return dropped


def fuse_add_softmax_dropout(
    training: bool,
    dropout: Callable[[torch.Tensor], torch.Tensor],
    attn_mask: torch.Tensor,
    attn_scores: torch.Tensor,
    attn_head_size: float,
    p: float = 0.5,
    dim: int = -1,
) -> torch.Tensor:
    """Dropped softmax(mask + scores/√head size) over the last dimension, of scores [N, heads, H, W].

    One fused operator where the package has one for the shape (H 128, 256, 384 or 512, N·heads divisible by 32);
    elsewhere the steps, with the module ``dropout``. As in the package, ``dim`` is not looked at.
    """
    scale = 1 / math.sqrt(attn_head_size)
    batch, heads, height, _ = attn_scores.shape
    if height in _FUSED_HEIGHTS and batch * heads % _FUSED_HEADS == 0:
        results: Any = torch.ops.npu.npu_dropout_with_add_softmax(
            attn_scores, attn_mask, scale, p if training else 0.0, -1
        )
        fused: torch.Tensor = results[2]
        return fused
    return dropout(torch.softmax(torch.add(attn_mask, attn_scores, alpha=scale), dim=-1))
