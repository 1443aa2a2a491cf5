"""Attention as all fused attention operators compute it: layouts, masks, the softmax with its statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from npuify.simulator.operators.checks import require, working

if TYPE_CHECKING:
    from collections.abc import Sequence

UNBOUNDED = 2147483647
"""The default of both band parameters: no bound."""
COMPRESSED = 2048
"""Rows and columns of the compressed triangular mask that sparse modes 2, 3, 4, 7 and 8 want."""


class Parts(NamedTuple):
    """Attention of one group of queries: output ``(B, N, Sq, Dv)`` and the softmax's maximum and sum ``(B, N, Sq)``."""

    output: torch.Tensor
    maximum: torch.Tensor
    total: torch.Tensor


def to_bnsd(tensor: torch.Tensor, layout: str, heads: int, operator: str) -> torch.Tensor:
    """``tensor`` as (B, N, S, D)."""
    if layout == "BNSD":
        require(tensor.dim() == 4, operator, f"layout BNSD wants 4 dimensions, not {tensor.dim()}")
        return tensor
    if layout == "BSND":
        require(tensor.dim() == 4, operator, f"layout BSND wants 4 dimensions, not {tensor.dim()}")
        return tensor.transpose(1, 2)
    require(tensor.dim() == 3, operator, f"layout {layout} wants 3 dimensions, not {tensor.dim()}")
    if layout == "TND":
        return tensor.transpose(0, 1).unsqueeze(0)
    require(
        heads > 0 and tensor.shape[2] % heads == 0,
        operator,
        f"size {tensor.shape[2]} is not a multiple of {heads} heads",
    )
    batch_first = tensor if layout == "BSH" else tensor.transpose(0, 1)
    batch, length, size = batch_first.shape
    return batch_first.reshape(batch, length, heads, size // heads).transpose(1, 2)


def from_bnsd(tensor: torch.Tensor, layout: str) -> torch.Tensor:
    """The inverse of :func:`to_bnsd`, contiguous."""
    if layout == "BNSD":
        return tensor.contiguous()
    if layout == "TND":
        return tensor.squeeze(0).transpose(0, 1).contiguous()
    swapped = tensor.transpose(1, 2)
    if layout == "BSND":
        return swapped.contiguous()
    flat = swapped.reshape(swapped.shape[0], swapped.shape[1], -1)
    return flat.contiguous() if layout == "BSH" else flat.transpose(0, 1).contiguous()


def heads_of_key(query: torch.Tensor, key: torch.Tensor, layout: str, heads: int, operator: str) -> int:
    """How many heads keys and values have, which the layouts BSH and SBH do not say."""
    if layout in ("BSH", "SBH"):
        require(query.shape[2] % heads == 0, operator, f"query's size {query.shape[2]} does not fit {heads} heads")
        width = query.shape[2] // heads
        require(key.shape[2] % width == 0, operator, f"key's size {key.shape[2]} is not a multiple of {width}")
        return int(key.shape[2] // width)
    return int(key.shape[{"BNSD": 1, "BSND": 2, "TND": 1}[layout]])


def band(rows: int, columns: int, before: int, after: int, *, from_end: bool, device: torch.device) -> torch.Tensor:
    """True where column j is out of ``[i - before, i + after]`` of row i.

    Args:
        from_end: align the last row with the last column, else the first with the first.
    """
    i = torch.arange(rows, device=device).unsqueeze(1) + (columns - rows if from_end else 0)
    j = torch.arange(columns, device=device).unsqueeze(0)
    return (j > i + after) | (j < i - before)


def prefix_band(rows: int, columns: int, prefix: int, device: torch.device) -> torch.Tensor:
    """True where neither the bottom-right triangle nor the first ``prefix`` columns are."""
    outside = band(rows, columns, UNBOUNDED, 0, from_end=True, device=device)
    return outside & (torch.arange(columns, device=device) >= prefix).unsqueeze(0)


def check_compressed(mask: torch.Tensor, mode: int, operator: str) -> None:
    """Sparse modes with a compressed mask take only that one mask."""
    wanted = (3072, COMPRESSED) if mode == 6 else (COMPRESSED, COMPRESSED)
    require(
        tuple(mask.shape[-2:]) == wanted,
        operator,
        f"sparse_mode {mode} wants the compressed mask of {wanted[0]} x {wanted[1]}, not {tuple(mask.shape)}",
    )


def full_mask(
    mask: torch.Tensor | None,
    mode: int,
    rows: int,
    columns: int,
    before: int,
    after: int,
    prefix: Sequence[int] | None,
    operator: str,
    device: torch.device,
) -> torch.Tensor | None:
    """What is masked, broadcastable to (B, N, rows, columns); True is left out. None: nothing.

    Modes are those of the vendor's documentation: 0 default, 1 all, 2 top-left causal, 3 bottom-right causal, 4 band,
    5 prefix, 6 compressed prefix. Without a mask all keys count in every mode.

    Raises:
        RuntimeError: an unknown mode, or a mask whose shape does not fit the mode.
    """
    require(0 <= mode <= 6, operator, f"sparse_mode {mode} is not one of 0 to 6 for this layout")
    if mask is None:
        return None
    if mode in (0, 1, 5):
        given = _fitted(mask, rows, columns, operator)
        if mode == 0 and (before < columns + rows or after < columns + rows):
            given = given | band(rows, columns, before, after, from_end=False, device=device)
        return given
    check_compressed(mask, mode, operator)
    if mode == 2:
        return band(rows, columns, UNBOUNDED, 0, from_end=False, device=device)
    if mode == 3:
        return band(rows, columns, UNBOUNDED, 0, from_end=True, device=device)
    if mode == 4:
        return band(rows, columns, before, after, from_end=True, device=device)
    require(prefix is not None and len(prefix) > 0, operator, "sparse_mode 6 needs prefix")
    each = [prefix_band(rows, columns, length, device) for length in prefix or ()]
    return torch.stack(each).unsqueeze(1)


def _fitted(mask: torch.Tensor, rows: int, columns: int, operator: str) -> torch.Tensor:
    require(
        mask.dim() in (2, 4) and mask.shape[-2] == rows and mask.shape[-1] == columns,
        operator,
        f"atten_mask of shape {tuple(mask.shape)} does not fit {rows} queries and {columns} keys",
    )
    return mask.to(torch.bool)


def add_position(scores: torch.Tensor, pse: torch.Tensor, operator: str) -> torch.Tensor:
    """Add positions to the scores; a pse of 1024 rows for more queries is the compressed form for ALiBi."""
    rows, columns = scores.shape[-2:]
    if pse.dim() == 4 and pse.shape[-2] == 1024 and rows > 1024:
        i = torch.arange(rows, device=scores.device).unsqueeze(1)
        j = torch.arange(columns, device=scores.device).unsqueeze(0)
        place = (j + rows - 1 - i).clamp(max=columns - 1)
        last = pse[:, :, -1, :].to(scores.dtype)
        return scores + last[:, :, place]
    require(
        pse.dim() == 4 and pse.shape[-1] == columns and pse.shape[-2] in (1, rows),
        operator,
        f"pse of shape {tuple(pse.shape)} does not fit {rows} queries and {columns} keys",
    )
    return scores + pse.to(scores.dtype)


def attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *,
    scale: float,
    mask: torch.Tensor | None = None,
    pse: torch.Tensor | None = None,
    pse_after_scale: bool = False,
    keep: torch.Tensor | None = None,
    keep_prob: float = 1.0,
    sink: torch.Tensor | None = None,
    operator: str = "attention",
) -> Parts:
    """Attention of (B, N, S, D) tensors; keys and values may have fewer heads.

    Args:
        mask: True leaves a key out. A query with no key left gives zeros.
        keep: the dropout mask, 1 keeps; kept probabilities are divided by ``keep_prob``.
        sink: one further score for each head, whose probability is thrown away.
    """
    kind = working(query)
    groups = query.shape[1] // key.shape[1] if key.shape[1] else 0
    require(
        groups > 0 and query.shape[1] == groups * key.shape[1],
        operator,
        f"{query.shape[1]} heads of the query are not a multiple of {key.shape[1]} heads of the key",
    )
    wide_key, wide_value = key.to(kind), value.to(kind)
    if groups > 1:
        wide_key = wide_key.repeat_interleave(groups, dim=1)
        wide_value = wide_value.repeat_interleave(groups, dim=1)
    scores = query.to(kind) @ wide_key.transpose(-1, -2)
    if pse is not None and not pse_after_scale:
        scores = add_position(scores, pse, operator)
    scores = scores * scale
    if pse is not None and pse_after_scale:
        scores = add_position(scores, pse, operator)
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    maximum = scores.amax(dim=-1) if scores.shape[-1] else scores.new_full(scores.shape[:-1], float("-inf"))
    if sink is not None:
        maximum = torch.maximum(maximum, sink.to(kind).view(1, -1, 1))
    shift = maximum.detach().masked_fill(maximum.detach() == float("-inf"), 0.0).unsqueeze(-1)
    exponents = torch.exp(scores - shift)
    total = exponents.sum(dim=-1)
    if sink is not None:
        total = total + torch.exp(sink.to(kind).view(1, -1, 1) - shift.squeeze(-1))
    divisor = total.masked_fill(total == 0, 1.0)
    weights = exponents / divisor.unsqueeze(-1)
    if keep is not None:
        weights = weights * keep.to(kind) / keep_prob
    return Parts((weights @ wide_value).to(query.dtype), maximum.detach(), total.detach())
