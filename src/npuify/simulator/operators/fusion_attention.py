"""``npu_fusion_attention`` and its versions: attention for training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from .attention_core import (
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
from .checks import require, require_dtype
from .table import DOCUMENTS, operator

if TYPE_CHECKING:
    from collections.abc import Sequence

LAYOUTS = ("BSH", "SBH", "BSND", "BNSD", "TND")
_TYPES = (torch.float16, torch.bfloat16, torch.float32)


def fusion_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    head_num: int,
    input_layout: str,
    *,
    pse: torch.Tensor | None,
    padding_mask: torch.Tensor | None,
    atten_mask: torch.Tensor | None,
    scale: float,
    keep_prob: float,
    before: int,
    after: int,
    prefix: Sequence[int] | None,
    query_ends: Sequence[int] | None,
    key_ends: Sequence[int] | None,
    sparse_mode: int,
    softmax_layout: str,
    sink: torch.Tensor | None,
    seed: int,
    pse_after_scale: bool = False,
    name: str = "npu_fusion_attention",
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Output, softmax maximum and softmax sum, as the vendor's documentation defines them."""
    require(input_layout in LAYOUTS, name, f"input_layout is one of {', '.join(LAYOUTS)}, not {input_layout!r}")
    require_dtype(query, _TYPES, name, "query")
    require(query.dtype == key.dtype == value.dtype, name, "query, key and value have different types")
    require(padding_mask is None, name, "padding_mask is not supported")
    require(0.0 < keep_prob <= 1.0, name, f"keep_prob is in (0, 1], not {keep_prob}")
    require(0 <= sparse_mode <= 8, name, f"sparse_mode is one of 0 to 8, not {sparse_mode}")
    if atten_mask is not None:
        require_mask(atten_mask, name)
    key_heads = heads_of_key(query, key, input_layout, head_num, name)
    heads = to_bnsd(query, input_layout, head_num, name)
    require(heads.shape[1] == head_num, name, f"query has {heads.shape[1]} heads, not head_num {head_num}")
    keys = to_bnsd(key, input_layout, key_heads, name)
    values = to_bnsd(value, input_layout, key_heads, name)
    require(
        heads.shape[-1] == keys.shape[-1], name, f"heads of query and key differ: {heads.shape[-1]}, {keys.shape[-1]}"
    )
    require(values.shape[-1] <= keys.shape[-1], name, f"value's heads ({values.shape[-1]}) are wider than key's")
    common: dict[str, Any] = {
        "scale": scale,
        "keep_prob": keep_prob,
        "sink": sink,
        "pse_after_scale": pse_after_scale,
        "operator": name,
    }
    if input_layout == "TND":
        parts = _each_sequence(
            heads, keys, values, pse, atten_mask, before, after, prefix, query_ends, key_ends, sparse_mode, seed, common
        )
        output = from_bnsd(parts.output, "TND")
        statistics = [_packed_statistics(part, query_ends or (), softmax_layout) for part in parts[1:]]
        return output, statistics[0], statistics[1]
    require(sparse_mode not in (7, 8), name, f"sparse_mode {sparse_mode} is for the layout TND only")
    require(heads.shape[0] == keys.shape[0], name, f"batches differ: {heads.shape[0]} and {keys.shape[0]}")
    mask = full_mask(atten_mask, sparse_mode, heads.shape[2], keys.shape[2], before, after, prefix, name, query.device)
    keep = dropout_mask((*heads.shape[:3], keys.shape[2]), keep_prob, seed, query.device)
    whole = attend(heads, keys, values, mask=mask, pse=pse, keep=keep, **common)
    return from_bnsd(whole.output, input_layout), _statistic(whole.maximum), _statistic(whole.total)


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
    mask: torch.Tensor | None,
    before: int,
    after: int,
    prefix: Sequence[int] | None,
    query_ends: Sequence[int] | None,
    key_ends: Sequence[int] | None,
    mode: int,
    seed: int,
    common: dict[str, Any],
) -> Parts:
    """Packed sequences, one after the other: (1, N, T, D)."""
    name = common["operator"]
    require(bool(query_ends) and bool(key_ends), name, "layout TND needs actual_seq_qlen and actual_seq_kvlen")
    ends = list(query_ends or ())
    others = list(key_ends or ())
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
        part_mask = _sequence_mask(mask, mode, index, count, rows, columns, before, after, prefix, name, query.device)
        part_pse = None if pse is None else pse[index : index + 1] if pse.shape[0] > 1 else pse
        keep = dropout_mask((1, query.shape[1], rows, columns), common["keep_prob"], seed + index, query.device)
        parts.append(attend(part_query, part_key, part_value, mask=part_mask, pse=part_pse, keep=keep, **common))
        starts = (ends[index], others[index])
    rest = query.shape[2] - starts[0]
    if rest > 0:
        zeros = query.new_zeros((1, query.shape[1], rest, value.shape[-1]))
        flat = query.new_zeros((1, query.shape[1], rest), dtype=torch.float32)
        parts.append(Parts(zeros, flat, flat))
    return Parts(*(torch.cat([part[place] for part in parts], dim=2) for place in range(3)))


def _sequence_mask(
    mask: torch.Tensor | None,
    mode: int,
    index: int,
    count: int,
    rows: int,
    columns: int,
    before: int,
    after: int,
    prefix: Sequence[int] | None,
    name: str,
    device: torch.device,
) -> torch.Tensor | None:
    if mask is None:
        return None
    if mode in (7, 8):
        check_compressed(mask, mode, name)
        cut = index == (count - 1 if mode == 7 else 0)
        if cut:
            return band(rows, columns, before, after, from_end=True, device=device)
        return band(rows, columns, UNBOUNDED, 0, from_end=mode == 7, device=device)
    if mode in (0, 1):
        require(mask.dim() == 2, name, f"layout TND takes a mask of two dimensions, not {mask.dim()}")
        require(
            mask.shape[0] >= rows and mask.shape[1] >= columns, name, f"atten_mask is smaller than {rows} x {columns}"
        )
        mask = mask[:rows, :columns]
    own = None if prefix is None else [prefix[index]]
    return full_mask(mask, mode, rows, columns, before, after, own, name, device)


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


def _seven(
    found: tuple[torch.Tensor, torch.Tensor, torch.Tensor], query: torch.Tensor, seed: int, offset: int, kept: bool
) -> tuple[Any, ...]:
    return (*found, query.new_empty([0]), seed, offset, 0 if kept else 1)


_GRADIENTS = ("query", "key", "value", "pse", "sink")


def _backward(a: Any, r: tuple[Any, ...], g: tuple[Any, ...]) -> tuple[Any, ...]:
    found = torch.ops.npu.npu_fusion_attention_grad(
        a.query,
        a.key,
        a.value,
        g[0],
        a.head_num,
        a.input_layout,
        pse=a.pse,
        padding_mask=a.padding_mask,
        atten_mask=a.atten_mask,
        softmax_max=r[1],
        softmax_sum=r[2],
        softmax_in=r[3],
        attention_in=r[0],
        scale_value=a.scale,
        keep_prob=a.keep_prob,
        pre_tockens=a.pre_tockens,
        next_tockens=a.next_tockens,
        inner_precise=a.inner_precise,
        seed=r[4],
        offset=r[5],
        numels=r[6],
        prefix=a.prefix,
        actual_seq_qlen=a.actual_seq_qlen,
        actual_seq_kvlen=a.actual_seq_kvlen,
        sparse_mode=a.sparse_mode,
        gen_mask_parallel=a.gen_mask_parallel,
        sync=a.sync,
        **({"softmax_layout": a.softmax_layout} if hasattr(a, "softmax_layout") else {}),
        **({"sink": a.sink} if hasattr(a, "sink") else {}),
    )
    return (*found[:3], found[3] if a.pse is not None else None, _sink_gradient(found, getattr(a, "sink", None)))


def _sink_gradient(found: Sequence[Any], sink: torch.Tensor | None) -> Any:
    return found[4] if sink is not None and len(found) > 4 else None


@operator(
    "npu_fusion_attention",
    gradients=_GRADIENTS,
    formula=_backward,
    note="queries without any key give zeros; dropout draws other numbers than the device",
)
def npu_fusion_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    head_num: int,
    input_layout: str,
    pse: torch.Tensor | None = None,
    padding_mask: torch.Tensor | None = None,
    atten_mask: torch.Tensor | None = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = UNBOUNDED,
    next_tockens: int = UNBOUNDED,
    inner_precise: int = 0,
    prefix: Sequence[int] | None = None,
    actual_seq_qlen: Sequence[int] | None = None,
    actual_seq_kvlen: Sequence[int] | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    softmax_layout: str = "",
    sink: torch.Tensor | None = None,
    seed: int = 0,
    offset: int = 0,
) -> tuple[Any, ...]:
    used = new_seed(keep_prob, seed)
    found = fusion_attention(
        query,
        key,
        value,
        head_num,
        input_layout,
        pse=pse,
        padding_mask=padding_mask,
        atten_mask=atten_mask,
        scale=scale,
        keep_prob=keep_prob,
        before=pre_tockens,
        after=next_tockens,
        prefix=prefix,
        query_ends=actual_seq_qlen,
        key_ends=actual_seq_kvlen,
        sparse_mode=sparse_mode,
        softmax_layout=softmax_layout,
        sink=sink,
        seed=used,
    )
    return _seven(found, query, used, offset, keep_prob >= 1.0)


def _backward_v2(a: Any, r: tuple[Any, ...], g: tuple[Any, ...]) -> tuple[Any, ...]:
    extra = {name: getattr(a, name) for name in ("softmax_layout", "sink") if hasattr(a, name)}
    found = torch.ops.npu.npu_fusion_attention_grad_v2(
        a.query,
        a.key,
        a.value,
        g[0],
        a.head_num,
        a.input_layout,
        pse=a.pse,
        padding_mask=a.padding_mask,
        atten_mask=a.atten_mask,
        softmax_max=r[1],
        softmax_sum=r[2],
        softmax_in=r[3],
        attention_in=r[0],
        query_rope=a.query_rope,
        key_rope=a.key_rope,
        scale_value=a.scale,
        keep_prob=a.keep_prob,
        pre_tokens=a.pre_tokens,
        next_tokens=a.next_tokens,
        inner_precise=a.inner_precise,
        seed=r[4],
        offset=r[5],
        numels=r[6],
        prefix=a.prefix,
        actual_seq_qlen=a.actual_seq_qlen,
        actual_seq_kvlen=a.actual_seq_kvlen,
        sparse_mode=a.sparse_mode,
        gen_mask_parallel=a.gen_mask_parallel,
        sync=a.sync,
        pse_type=a.pse_type,
        q_start_idx=a.q_start_idx,
        kv_start_idx=a.kv_start_idx,
        **extra,
    )
    ropes = (found[4] if a.query_rope is not None else None, found[5] if a.key_rope is not None else None)
    sink = found[6] if extra.get("sink") is not None else None
    return (*found[:3], found[3] if a.pse is not None else None, *ropes, sink)


@operator(
    "npu_fusion_attention_v2",
    source=f"{DOCUMENTS}torch_npu-npu_fusion_attention.md",
    evidence="assumed",
    gradients=("query", "key", "value", "pse", "query_rope", "key_rope", "sink"),
    formula=_backward_v2,
    note="pse_type 0 and 1 only; dropout draws other numbers than the device",
)
def npu_fusion_attention_v2(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    head_num: int,
    input_layout: str,
    pse: torch.Tensor | None = None,
    padding_mask: torch.Tensor | None = None,
    atten_mask: torch.Tensor | None = None,
    query_rope: torch.Tensor | None = None,
    key_rope: torch.Tensor | None = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tokens: int = UNBOUNDED,
    next_tokens: int = UNBOUNDED,
    inner_precise: int = 0,
    prefix: Sequence[int] | None = None,
    actual_seq_qlen: Sequence[int] | None = None,
    actual_seq_kvlen: Sequence[int] | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    pse_type: int = 1,
    softmax_layout: str = "",
    sink: torch.Tensor | None = None,
    seed: int = 0,
    offset: int = 0,
) -> tuple[Any, ...]:
    used = new_seed(keep_prob, seed)
    found = with_rope(
        query,
        key,
        value,
        head_num,
        input_layout,
        query_rope,
        key_rope,
        pse=pse,
        padding_mask=padding_mask,
        atten_mask=atten_mask,
        scale=scale,
        keep_prob=keep_prob,
        before=pre_tokens,
        after=next_tokens,
        prefix=prefix,
        query_ends=actual_seq_qlen,
        key_ends=actual_seq_kvlen,
        sparse_mode=sparse_mode,
        softmax_layout=softmax_layout,
        sink=sink,
        seed=used,
        pse_type=pse_type,
    )
    return _seven(found, query, used, offset, keep_prob >= 1.0)


def with_rope(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    head_num: int,
    input_layout: str,
    query_rope: torch.Tensor | None,
    key_rope: torch.Tensor | None,
    *,
    pse: torch.Tensor | None,
    pse_type: int,
    **rest: Any,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Version 2: positions may be heads' further columns, and ``pse_type`` says when pse is added."""
    name = "npu_fusion_attention_v2"
    if pse is not None and pse_type not in (0, 1):
        raise NotImplementedError(f"torch_npu.{name} is not simulated with pse_type {pse_type}")
    if query_rope is not None and key_rope is not None:
        require(input_layout in ("BNSD", "BSND", "TND"), name, f"query_rope does not go with layout {input_layout}")
        query = torch.cat([query, query_rope], dim=-1)
        key = torch.cat([key, key_rope], dim=-1)
    return fusion_attention(
        query, key, value, head_num, input_layout, pse=pse, pse_after_scale=pse_type == 0, name=name, **rest
    )


def _backward_v3(a: Any, r: tuple[Any, ...], g: tuple[Any, ...]) -> tuple[Any, ...]:
    found = torch.ops.npu.npu_fusion_attention_grad_v3(
        a.query,
        a.key,
        a.value,
        g[0],
        a.head_num,
        a.input_layout,
        pse=a.pse,
        padding_mask=a.padding_mask,
        atten_mask=a.atten_mask,
        softmax_max=r[1],
        softmax_sum=r[2],
        softmax_in=r[3],
        attention_in=r[0],
        scale_value=a.scale,
        keep_prob=a.keep_prob,
        pre_tockens=a.pre_tockens,
        next_tockens=a.next_tockens,
        inner_precise=a.inner_precise,
        seed=r[4],
        offset=r[5],
        prefix=a.prefix,
        actual_seq_qlen=a.actual_seq_qlen,
        actual_seq_kvlen=a.actual_seq_kvlen,
        sparse_mode=a.sparse_mode,
        gen_mask_parallel=a.gen_mask_parallel,
        sync=a.sync,
        softmax_layout=a.softmax_layout,
        sink=a.sink,
    )
    return (*found[:3], found[3] if a.pse is not None else None, _sink_gradient(found, a.sink))


@operator("npu_fusion_attention_v3", gradients=_GRADIENTS, formula=_backward_v3)
def npu_fusion_attention_v3(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    head_num: int,
    input_layout: str,
    pse: torch.Tensor | None = None,
    padding_mask: torch.Tensor | None = None,
    atten_mask: torch.Tensor | None = None,
    scale: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = UNBOUNDED,
    next_tockens: int = UNBOUNDED,
    inner_precise: int = 0,
    prefix: Sequence[int] | None = None,
    actual_seq_qlen: torch.Tensor | None = None,
    actual_seq_kvlen: torch.Tensor | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    softmax_layout: str = "",
    sink: torch.Tensor | None = None,
) -> tuple[Any, ...]:
    used = new_seed(keep_prob, 0)
    found = fusion_attention(
        query,
        key,
        value,
        head_num,
        input_layout,
        pse=pse,
        padding_mask=padding_mask,
        atten_mask=atten_mask,
        scale=scale,
        keep_prob=keep_prob,
        before=pre_tockens,
        after=next_tockens,
        prefix=prefix,
        query_ends=None if actual_seq_qlen is None else actual_seq_qlen.tolist(),
        key_ends=None if actual_seq_kvlen is None else actual_seq_kvlen.tolist(),
        sparse_mode=sparse_mode,
        softmax_layout=softmax_layout,
        sink=sink,
        seed=used,
        name="npu_fusion_attention_v3",
    )
    seed = torch.tensor([used], dtype=torch.int64, device=query.device)
    return (*found, query.new_empty([0]), seed, torch.zeros_like(seed))
