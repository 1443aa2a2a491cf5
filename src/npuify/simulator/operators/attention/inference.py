"""Attention for inference, on tensors in any of the vendor's layouts, packed, padded or paged."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

from npuify.simulator.operators.attention.core import UNBOUNDED, attend, band, check_compressed
from npuify.simulator.operators.checks import require

if TYPE_CHECKING:
    from collections.abc import Sequence

INPUTS = {
    "BSH": ("BSH", "BSH"),
    "BSND": ("BSND", "BSND"),
    "BNSD": ("BNSD", "BNSD"),
    "TND": ("TND", "TND"),
    "NTD": ("NTD", "NTD"),
    "NSD": ("NTD", "NTD"),
    "BNSD_BSND": ("BNSD", "BSND"),
    "BSH_BNSD": ("BSH", "BNSD"),
    "BSND_BNSD": ("BSND", "BNSD"),
    "NTD_TND": ("NTD", "TND"),
    "TND_NTD": ("TND", "NTD"),
    "BSH_NBSD": ("BSH", "NBSD"),
    "BSND_NBSD": ("BSND", "NBSD"),
    "BNSD_NBSD": ("BNSD", "NBSD"),
}
"""Layout name → layout of the inputs, and of the output. From torch_npu/op_plugin/meta/_meta_registrations.py."""


class Request(NamedTuple):
    """One call, with the names that all three operators share."""

    name: str
    layout: str
    heads: int
    key_heads: int
    scale: float
    mask: torch.Tensor | None
    pse: torch.Tensor | None
    mode: int
    before: int
    after: int
    query_lengths: Sequence[int] | None
    key_lengths: Sequence[int] | None
    blocks: torch.Tensor | None
    block_size: int


def _split(tensor: torch.Tensor, layout: str, heads: int, name: str) -> torch.Tensor:
    """A tensor as (B, N, S, D); packed layouts get a batch of 1."""
    wanted = 4 if layout in ("BSND", "BNSD") else 3
    require(tensor.dim() == wanted, name, f"layout {layout} wants {wanted} dimensions, not {tensor.dim()}")
    if layout == "BNSD":
        return tensor
    if layout == "BSND":
        return tensor.transpose(1, 2)
    if layout == "TND":
        return tensor.transpose(0, 1).unsqueeze(0)
    if layout == "NTD":
        return tensor.unsqueeze(0)
    require(tensor.shape[2] % heads == 0, name, f"size {tensor.shape[2]} is not a multiple of {heads} heads")
    return tensor.reshape(tensor.shape[0], tensor.shape[1], heads, -1).transpose(1, 2)


def _joined(tensor: torch.Tensor, layout: str) -> torch.Tensor:
    if layout == "BNSD":
        return tensor.contiguous()
    if layout == "NBSD":
        return tensor.transpose(0, 1).contiguous()
    if layout == "NTD":
        return tensor.squeeze(0).contiguous()
    if layout == "TND":
        return tensor.squeeze(0).transpose(0, 1).contiguous()
    swapped = tensor.transpose(1, 2)
    return swapped.contiguous() if layout == "BSND" else swapped.flatten(2).contiguous()


def infer(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, request: Request
) -> tuple[torch.Tensor, torch.Tensor]:
    """Output in the layout asked for, and log-sum-exp as (B, N, S, 1) or (T, N, 1)."""
    name = request.name
    require(request.layout in INPUTS, name, f"layout {request.layout!r} is not supported")
    inputs, outputs = INPUTS[request.layout]
    require(request.heads > 0, name, f"the number of heads is {request.heads}")
    key_heads = request.key_heads or request.heads
    require(request.heads % key_heads == 0, name, f"{request.heads} heads are not a multiple of {key_heads}")
    require(query.is_floating_point(), name, f"queries of type {query.dtype} are not simulated")
    heads = _split(query, inputs, request.heads, name)
    require(heads.shape[1] == request.heads, name, f"query has {heads.shape[1]} heads, not {request.heads}")
    packed = inputs in ("TND", "NTD")
    if request.blocks is not None:
        keys, values = (_unpaged(part, request, key_heads) for part in (key, value))
    else:
        keys, values = (_split(part, inputs, key_heads, name) for part in (key, value))
    run = _packed if packed else _padded
    output, lse = run(heads, keys, values, request)
    if packed:
        lse = lse.squeeze(0).transpose(0, 1)
    return _joined(output, outputs), lse.unsqueeze(-1).to(torch.float32).contiguous()


def _unpaged(cache: torch.Tensor, request: Request, heads: int) -> torch.Tensor:
    """Blocks of a paged cache in the order of each sequence's table, as (B, N, S, D)."""
    table = request.blocks
    assert table is not None
    name = request.name
    require(request.key_lengths is not None, name, "block_table needs the actual lengths of the keys")
    require(cache.dim() in (3, 4), name, f"a paged cache has 3 or 4 dimensions, not {cache.dim()}")
    if cache.dim() == 4:
        blocks = cache
    else:
        blocks = cache.reshape(cache.shape[0], cache.shape[1], heads, -1).transpose(1, 2)
    require(blocks.shape[2] == request.block_size, name, f"blocks hold {blocks.shape[2]}, not {request.block_size}")
    chosen = blocks[table.clamp(min=0).long()]
    batch, count, number, size, width = chosen.shape
    return chosen.transpose(1, 2).reshape(batch, number, count * size, width)


def _lengths(given: Sequence[int] | None, batch: int, whole: int, name: str) -> list[int]:
    if not given:
        return [whole] * batch
    require(len(given) == 1 or len(given) >= batch, name, f"{len(given)} lengths for a batch of {batch}")
    lengths = list(given) * batch if len(given) == 1 else list(given)[:batch]
    require(all(0 <= length <= whole for length in lengths), name, f"a length exceeds {whole}")
    return lengths


def _padded(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, request: Request
) -> tuple[torch.Tensor, torch.Tensor]:
    batch, heads, rows, _ = query.shape
    require(key.shape[0] == batch, request.name, f"batches differ: {batch} and {key.shape[0]}")
    query_lengths = _lengths(request.query_lengths, batch, rows, request.name)
    key_lengths = _lengths(request.key_lengths, batch, key.shape[2], request.name)
    outputs = query.new_zeros((batch, heads, rows, value.shape[-1]))
    lse = query.new_full((batch, heads, rows), float("inf"), dtype=torch.float32)
    for index, (long, wide) in enumerate(zip(query_lengths, key_lengths, strict=True)):
        if not long:
            continue
        part, own = _one(
            query[index : index + 1, :, :long],
            key[index : index + 1, :, :wide],
            value[index : index + 1, :, :wide],
            request,
            index,
            rows,
        )
        outputs[index : index + 1, :, :long] = part
        lse[index : index + 1, :, :long] = own
    return outputs, lse


def _packed(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, request: Request
) -> tuple[torch.Tensor, torch.Tensor]:
    require(
        bool(request.query_lengths) and bool(request.key_lengths),
        request.name,
        f"layout {request.layout} needs the running totals of the lengths",
    )
    outputs = query.new_zeros((1, query.shape[1], query.shape[2], value.shape[-1]))
    lse = query.new_full((1, query.shape[1], query.shape[2]), float("inf"), dtype=torch.float32)
    start, begin = 0, 0
    for index, (end, stop) in enumerate(zip(request.query_lengths or (), request.key_lengths or (), strict=True)):
        if request.blocks is not None:
            keys, values = key[index : index + 1, :, :stop], value[index : index + 1, :, :stop]
        else:
            keys, values = key[:, :, begin:stop], value[:, :, begin:stop]
        if end > start:
            part, own = _one(query[:, :, start:end], keys, values, request, index, end - start)
            outputs[:, :, start:end] = part
            lse[:, :, start:end] = own
        start, begin = end, stop
    return outputs, lse


def _one(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, request: Request, index: int, whole: int
) -> tuple[torch.Tensor, torch.Tensor]:
    rows, columns = query.shape[2], key.shape[2]
    pse = request.pse
    if pse is not None:
        pse = (pse[index : index + 1] if pse.shape[0] > 1 else pse)[..., :rows, :columns]
    parts = attend(
        query,
        key,
        value,
        scale=request.scale,
        mask=_mask(request, index, rows, columns, whole, query.device),
        pse=pse,
        pse_after_scale=True,
        operator=request.name,
    )
    return parts.output, (parts.maximum + parts.total.log()).to(torch.float32)


def _mask(
    request: Request, index: int, rows: int, columns: int, whole: int, device: torch.device
) -> torch.Tensor | None:
    mask, mode, name = request.mask, request.mode, request.name
    require(0 <= mode <= 4, name, f"sparse_mode {mode} is not supported")
    if mask is None:
        return None
    require(mask.dtype in (torch.bool, torch.uint8, torch.int8), name, f"atten_mask of type {mask.dtype}")
    if mode in (2, 3, 4) and whole > 1:
        check_compressed(mask, mode, name)
        if mode == 4:
            return band(rows, columns, request.before, request.after, from_end=True, device=device)
        return band(rows, columns, UNBOUNDED, 0, from_end=mode == 3, device=device)
    while mask.dim() > 2:
        mask = mask[min(index, mask.shape[0] - 1)] if mask.shape[0] > 1 else mask[0]
    if mask.dim() == 1:
        mask = mask.unsqueeze(0)
    require(
        mask.shape[-1] >= columns and mask.shape[-2] in (1, whole),
        name,
        f"atten_mask of shape {tuple(mask.shape)} does not fit {rows} queries and {columns} keys",
    )
    given = (mask[:rows] if mask.shape[-2] > 1 else mask)[..., :columns].to(torch.bool)
    if mode == 0 and rows > 1 and (request.before < rows + columns or request.after < rows + columns):
        given = given | band(rows, columns, request.before, request.after, from_end=False, device=device)
    return given
