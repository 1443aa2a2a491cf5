"""Attention for training, on tensors in any of the vendor's layouts: what ``npu_fusion_attention`` computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from npuify.simulator.operators.attention.core import (
    UNBOUNDED,
    Parts,
    attend,
    band,
    check_compressed,
    from_bnsd,
    full_mask,
    heads_of_key,
    to_bnsd,
)
from npuify.simulator.operators.checks import require, require_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

LAYOUTS = ("BSH", "SBH", "BSND", "BNSD", "TND")
_TYPES = (torch.float16, torch.bfloat16, torch.float32)


class Request(NamedTuple):
    """One call but for its tensors with gradients, with the names that all versions share."""

    name: str
    """The operator, for its errors."""
    heads: int
    layout: str
    padding_mask: torch.Tensor | None
    mask: torch.Tensor | None
    scale: float
    keep_prob: float
    before: int
    after: int
    prefix: Sequence[int] | None
    query_ends: Sequence[int] | None
    key_ends: Sequence[int] | None
    mode: int
    """``sparse_mode``: which part of the mask counts."""
    softmax_layout: str
    seed: int
    pse_after_scale: bool = False


def fusion_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    pse: torch.Tensor | None,
    sink: torch.Tensor | None,
    request: Request,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Output, softmax maximum and softmax sum, as the vendor's documentation defines them."""
    name, layout = request.name, request.layout
    _check(query, key, value, request)
    key_heads = heads_of_key(query, key, layout, request.heads, name)
    heads = to_bnsd(query, layout, request.heads, name)
    require(heads.shape[1] == request.heads, name, f"query has {heads.shape[1]} heads, not head_num {request.heads}")
    keys = to_bnsd(key, layout, key_heads, name)
    values = to_bnsd(value, layout, key_heads, name)
    require(
        heads.shape[-1] == keys.shape[-1], name, f"heads of query and key differ: {heads.shape[-1]}, {keys.shape[-1]}"
    )
    require(values.shape[-1] <= keys.shape[-1], name, f"value's heads ({values.shape[-1]}) are wider than key's")
    if layout == "TND":
        parts = _each_sequence(heads, keys, values, pse, sink, request)
        statistics = [_packed_statistics(part, request.query_ends or (), request.softmax_layout) for part in parts[1:]]
        return from_bnsd(parts.output, "TND"), statistics[0], statistics[1]
    require(request.mode not in (7, 8), name, f"sparse_mode {request.mode} is for the layout TND only")
    require(heads.shape[0] == keys.shape[0], name, f"batches differ: {heads.shape[0]} and {keys.shape[0]}")
    rows, columns = heads.shape[2], keys.shape[2]
    mask = full_mask(
        request.mask, request.mode, rows, columns, request.before, request.after, request.prefix, name, query.device
    )
    keep = dropout_mask((*heads.shape[:3], columns), request.keep_prob, request.seed, query.device)
    whole = _attend(heads, keys, values, mask, pse, sink, keep, request)
    return from_bnsd(whole.output, layout), _statistic(whole.maximum), _statistic(whole.total)


def _check(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, request: Request) -> None:
    name, layout = request.name, request.layout
    require(layout in LAYOUTS, name, f"input_layout is one of {', '.join(LAYOUTS)}, not {layout!r}")
    require_dtype(query, _TYPES, name, "query")
    require(query.dtype == key.dtype == value.dtype, name, "query, key and value have different types")
    require(request.padding_mask is None, name, "padding_mask is not supported")
    require(0.0 < request.keep_prob <= 1.0, name, f"keep_prob is in (0, 1], not {request.keep_prob}")
    require(0 <= request.mode <= 8, name, f"sparse_mode is one of 0 to 8, not {request.mode}")
    if request.mask is not None:
        require_mask(request.mask, name)


def _attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    pse: torch.Tensor | None,
    sink: torch.Tensor | None,
    keep: torch.Tensor | None,
    request: Request,
) -> Parts:
    return attend(
        query,
        key,
        value,
        mask=mask,
        pse=pse,
        keep=keep,
        scale=request.scale,
        keep_prob=request.keep_prob,
        sink=sink,
        pse_after_scale=request.pse_after_scale,
        operator=request.name,
    )


def require_mask(mask: torch.Tensor, name: str) -> None:
    """Masks are bool or uint8; a float mask, as PyTorch's own attention takes it, is refused."""
    require(mask.dtype in (torch.bool, torch.uint8), name, f"atten_mask is bool or uint8, not {mask.dtype}")


def dropout_mask(shape: Sequence[int], keep_prob: float, seed: int, device: torch.device) -> torch.Tensor | None:
    """Which probabilities are kept; the same for the same seed, in forward and backward. None: all."""
    if keep_prob >= 1.0:
        return None
    generator = torch.Generator()
    generator.manual_seed(seed)
    drawn = torch.empty(tuple(shape), dtype=torch.float32).bernoulli_(keep_prob, generator=generator)
    return drawn.to(device)


def new_seed(keep_prob: float, seed: int) -> int:
    """The seed of this call's dropout: the given one, else one drawn from the CPU's generator."""
    if keep_prob >= 1.0 or seed:
        return seed
    return int(torch.random.default_generator.initial_seed() % 2**31) ^ _next_call()


_calls = 0


def _next_call() -> int:
    global _calls
    _calls += 1
    return _calls


def _statistic(value: torch.Tensor) -> torch.Tensor:
    return value.to(torch.float32).unsqueeze(-1).expand(*value.shape, 8).contiguous()


def _each_sequence(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    pse: torch.Tensor | None,
    sink: torch.Tensor | None,
    request: Request,
) -> Parts:
    """Packed sequences, one after the other: (1, N, T, D)."""
    name, mode = request.name, request.mode
    ends, others = list(request.query_ends or ()), list(request.key_ends or ())
    require(bool(ends) and bool(others), name, "layout TND needs actual_seq_qlen and actual_seq_kvlen")
    require(len(ends) == len(others), name, "actual_seq_qlen and actual_seq_kvlen differ in length")
    require(mode != 5, name, "sparse_mode 5 is not for the layout TND")
    require(pse is None or mode not in (7, 8), name, f"sparse_mode {mode} does not take pse")
    count = len(ends)
    while count and ends[count - 1] == 0 and count > 1:
        count -= 1
    parts: list[Parts] = []
    starts = (0, 0)
    for index in range(count):
        rows, columns = ends[index] - starts[0], others[index] - starts[1]
        require(rows >= 0 and columns >= 0, name, "actual_seq_qlen and actual_seq_kvlen are running totals")
        part_query = query[:, :, starts[0] : ends[index]]
        part_key = key[:, :, starts[1] : others[index]]
        part_value = value[:, :, starts[1] : others[index]]
        mask = _sequence_mask(request, index, count, rows, columns, query.device)
        part_pse = None if pse is None else pse[index : index + 1] if pse.shape[0] > 1 else pse
        keep = dropout_mask((1, query.shape[1], rows, columns), request.keep_prob, request.seed + index, query.device)
        parts.append(_attend(part_query, part_key, part_value, mask, part_pse, sink, keep, request))
        starts = (ends[index], others[index])
    rest = query.shape[2] - starts[0]
    if rest > 0:
        zeros = query.new_zeros((1, query.shape[1], rest, value.shape[-1]))
        flat = query.new_zeros((1, query.shape[1], rest), dtype=torch.float32)
        parts.append(Parts(zeros, flat, flat))
    return Parts(*(torch.cat([part[place] for part in parts], dim=2) for place in range(3)))


def _sequence_mask(
    request: Request, index: int, count: int, rows: int, columns: int, device: torch.device
) -> torch.Tensor | None:
    mask, mode, name = request.mask, request.mode, request.name
    if mask is None:
        return None
    if mode in (7, 8):
        check_compressed(mask, mode, name)
        cut = index == (count - 1 if mode == 7 else 0)
        if cut:
            return band(rows, columns, request.before, request.after, from_end=True, device=device)
        return band(rows, columns, UNBOUNDED, 0, from_end=mode == 7, device=device)
    if mode in (0, 1):
        require(mask.dim() == 2, name, f"layout TND takes a mask of two dimensions, not {mask.dim()}")
        require(
            mask.shape[0] >= rows and mask.shape[1] >= columns, name, f"atten_mask is smaller than {rows} x {columns}"
        )
        mask = mask[:rows, :columns]
    own = None if request.prefix is None else [request.prefix[index]]
    return full_mask(mask, mode, rows, columns, request.before, request.after, own, name, device)


def _packed_statistics(value: torch.Tensor, ends: Sequence[int], layout: str) -> torch.Tensor:
    """A softmax statistic (1, N, T) as (T, N, 8).

    By default the values of each sequence lie head by head (its N before its T) in that shape; with
    ``softmax_layout="TND"`` token by token.
    """
    by_head = value.squeeze(0)
    if layout == "TND":
        return _statistic(by_head.transpose(0, 1).contiguous())
    pieces = []
    start = 0
    for end in [*(end for end in ends if end > 0), by_head.shape[1]]:
        pieces.append(by_head[:, start:end].reshape(-1))
        start = max(start, end)
    return _statistic(torch.cat(pieces).reshape(by_head.shape[1], by_head.shape[0]))
