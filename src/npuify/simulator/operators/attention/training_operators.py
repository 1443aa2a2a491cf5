"""``npu_fusion_attention`` and its versions, as programs call them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from npuify.simulator.operators.attention.core import UNBOUNDED
from npuify.simulator.operators.attention.training import Request, fusion_attention, new_seed
from npuify.simulator.operators.checks import require
from npuify.simulator.operators.table import DOCUMENTS, operator

if TYPE_CHECKING:
    from collections.abc import Sequence

_GRADIENTS = ("query", "key", "value", "pse", "sink")
_PASSED_ON = (
    "pse padding_mask atten_mask query_rope key_rope keep_prob pre_tockens next_tockens pre_tokens next_tokens "
    "inner_precise prefix actual_seq_qlen actual_seq_kvlen sparse_mode gen_mask_parallel sync pse_type q_start_idx "
    "kv_start_idx softmax_layout sink"
).split()
"""Arguments that the backward operators take as they were; each release and version has some of them."""


def _gradients(operator: Any, a: Any, r: tuple[Any, ...], g: tuple[Any, ...]) -> Any:
    """What a backward operator gives for a call: its arguments ``a``, results ``r`` and their gradients ``g``."""
    passed = {name: getattr(a, name) for name in _PASSED_ON if hasattr(a, name)}
    kept = {"numels": r[6]} if len(r) > 6 else {}
    return operator(
        a.query,
        a.key,
        a.value,
        g[0],
        a.head_num,
        a.input_layout,
        softmax_max=r[1],
        softmax_sum=r[2],
        softmax_in=r[3],
        attention_in=r[0],
        scale_value=a.scale,
        seed=r[4],
        offset=r[5],
        **kept,
        **passed,
    )


def _pse_and_sink(found: Any, a: Any) -> tuple[Any, ...]:
    sink = found[4] if getattr(a, "sink", None) is not None and len(found) > 4 else None
    return found[3] if a.pse is not None else None, sink


def _backward(a: Any, r: tuple[Any, ...], g: tuple[Any, ...]) -> tuple[Any, ...]:
    found = _gradients(torch.ops.npu.npu_fusion_attention_grad, a, r, g)
    return (*found[:3], *_pse_and_sink(found, a))


def _backward_v2(a: Any, r: tuple[Any, ...], g: tuple[Any, ...]) -> tuple[Any, ...]:
    found = _gradients(torch.ops.npu.npu_fusion_attention_grad_v2, a, r, g)
    ropes = (found[4] if a.query_rope is not None else None, found[5] if a.key_rope is not None else None)
    sink = found[6] if getattr(a, "sink", None) is not None else None
    return (*found[:3], found[3] if a.pse is not None else None, *ropes, sink)


def _backward_v3(a: Any, r: tuple[Any, ...], g: tuple[Any, ...]) -> tuple[Any, ...]:
    found = _gradients(torch.ops.npu.npu_fusion_attention_grad_v3, a, r, g)
    return (*found[:3], *_pse_and_sink(found, a))


def _seven(
    found: tuple[torch.Tensor, torch.Tensor, torch.Tensor], query: torch.Tensor, seed: int, offset: int, kept: bool
) -> tuple[Any, ...]:
    return (*found, query.new_empty([0]), seed, offset, 0 if kept else 1)


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
    request = Request(
        "npu_fusion_attention",
        head_num,
        input_layout,
        padding_mask,
        atten_mask,
        scale,
        keep_prob,
        pre_tockens,
        next_tockens,
        prefix,
        actual_seq_qlen,
        actual_seq_kvlen,
        sparse_mode,
        softmax_layout,
        used,
    )
    found = fusion_attention(query, key, value, pse, sink, request)
    return _seven(found, query, used, offset, keep_prob >= 1.0)


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
    request = Request(
        "npu_fusion_attention_v2",
        head_num,
        input_layout,
        padding_mask,
        atten_mask,
        scale,
        keep_prob,
        pre_tokens,
        next_tokens,
        prefix,
        actual_seq_qlen,
        actual_seq_kvlen,
        sparse_mode,
        softmax_layout,
        used,
        pse_type == 0,
    )
    found = with_rope(query, key, value, pse, query_rope, key_rope, sink, request, pse_type)
    return _seven(found, query, used, offset, keep_prob >= 1.0)


def with_rope(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    pse: torch.Tensor | None,
    query_rope: torch.Tensor | None,
    key_rope: torch.Tensor | None,
    sink: torch.Tensor | None,
    request: Request,
    pse_type: int,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Version 2: positions may be heads' further columns, and ``pse_type`` says when pse is added."""
    name = request.name
    if pse is not None and pse_type not in (0, 1):
        raise NotImplementedError(f"torch_npu.{name} is not simulated with pse_type {pse_type}")
    if query_rope is not None and key_rope is not None:
        fits = request.layout in ("BNSD", "BSND", "TND")
        require(fits, name, f"query_rope does not go with layout {request.layout}")
        query = torch.cat([query, query_rope], dim=-1)
        key = torch.cat([key, key_rope], dim=-1)
    return fusion_attention(query, key, value, pse, sink, request)


def listed(ends: torch.Tensor | None) -> Sequence[int] | None:
    """Running totals that version 3 takes as a tensor."""
    return None if ends is None else ends.tolist()


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
    request = Request(
        "npu_fusion_attention_v3",
        head_num,
        input_layout,
        padding_mask,
        atten_mask,
        scale,
        keep_prob,
        pre_tockens,
        next_tockens,
        prefix,
        listed(actual_seq_qlen),
        listed(actual_seq_kvlen),
        sparse_mode,
        softmax_layout,
        used,
    )
    found = fusion_attention(query, key, value, pse, sink, request)
    seed = torch.tensor([used], dtype=torch.int64, device=query.device)
    return (*found, query.new_empty([0]), seed, torch.zeros_like(seed))
