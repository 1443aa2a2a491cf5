"""Backward operators of fused attention, which programs with their own autograd functions call themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from npuify.simulator.operators.attention.core import UNBOUNDED
from npuify.simulator.operators.attention.training import Request, fusion_attention
from npuify.simulator.operators.attention.training_operators import listed, with_rope
from npuify.simulator.operators.autograd import vector_jacobian
from npuify.simulator.operators.table import DERIVATIVES, operator

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch


def _none_or(value: torch.Tensor | None, like: torch.Tensor) -> torch.Tensor:
    return like.new_empty([0]) if value is None else value


@operator("npu_fusion_attention_grad", source=DERIVATIVES)
def npu_fusion_attention_grad(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    dy: torch.Tensor,
    head_num: int,
    input_layout: str,
    pse: torch.Tensor | None = None,
    padding_mask: torch.Tensor | None = None,
    atten_mask: torch.Tensor | None = None,
    softmax_max: torch.Tensor | None = None,
    softmax_sum: torch.Tensor | None = None,
    softmax_in: torch.Tensor | None = None,
    attention_in: torch.Tensor | None = None,
    scale_value: float = 1.0,
    keep_prob: float = 1.0,
    pre_tockens: int = UNBOUNDED,
    next_tockens: int = UNBOUNDED,
    inner_precise: int = 0,
    seed: int = 0,
    offset: int = 0,
    numels: int = 0,
    prefix: Sequence[int] | None = None,
    actual_seq_qlen: Sequence[int] | None = None,
    actual_seq_kvlen: Sequence[int] | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    softmax_layout: str = "",
    sink: torch.Tensor | None = None,
    **version: Any,
) -> tuple[Any, ...]:
    request = Request(
        "npu_fusion_attention",
        head_num,
        input_layout,
        padding_mask,
        atten_mask,
        scale_value,
        keep_prob,
        pre_tockens,
        next_tockens,
        prefix,
        actual_seq_qlen,
        actual_seq_kvlen,
        sparse_mode,
        softmax_layout,
        seed,
    )

    def again(q: Any, k: Any, v: Any, p: Any, s: Any) -> Any:
        return fusion_attention(q, k, v, p, s, request)[0]

    found = vector_jacobian(again, [query, key, value, pse, sink], [dy])
    return (*found[:3], _none_or(found[3], query), _none_or(found[4], query))


@operator("npu_fusion_attention_grad_v2", source=DERIVATIVES)
def npu_fusion_attention_grad_v2(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    dy: torch.Tensor,
    head_num: int,
    input_layout: str,
    pse: torch.Tensor | None = None,
    padding_mask: torch.Tensor | None = None,
    atten_mask: torch.Tensor | None = None,
    softmax_max: torch.Tensor | None = None,
    softmax_sum: torch.Tensor | None = None,
    softmax_in: torch.Tensor | None = None,
    attention_in: torch.Tensor | None = None,
    query_rope: torch.Tensor | None = None,
    key_rope: torch.Tensor | None = None,
    scale_value: float = 1.0,
    keep_prob: float = 1.0,
    pre_tokens: int = UNBOUNDED,
    next_tokens: int = UNBOUNDED,
    inner_precise: int = 0,
    seed: int = 0,
    offset: int = 0,
    numels: int = 0,
    prefix: Sequence[int] | None = None,
    actual_seq_qlen: Sequence[int] | None = None,
    actual_seq_kvlen: Sequence[int] | None = None,
    sparse_mode: int = 0,
    gen_mask_parallel: bool = True,
    sync: bool = False,
    pse_type: int = 1,
    softmax_layout: str = "",
    sink: torch.Tensor | None = None,
) -> tuple[Any, ...]:
    request = Request(
        "npu_fusion_attention_v2",
        head_num,
        input_layout,
        padding_mask,
        atten_mask,
        scale_value,
        keep_prob,
        pre_tokens,
        next_tokens,
        prefix,
        actual_seq_qlen,
        actual_seq_kvlen,
        sparse_mode,
        softmax_layout,
        seed,
        pse_type == 0,
    )

    def again(q: Any, k: Any, v: Any, p: Any, query_extra: Any, key_extra: Any, s: Any) -> Any:
        return with_rope(q, k, v, p, query_extra, key_extra, s, request, pse_type)[0]

    found = vector_jacobian(again, [query, key, value, pse, query_rope, key_rope, sink], [dy])
    return (*found[:3], *(_none_or(gradient, query) for gradient in found[3:]))


@operator("npu_fusion_attention_grad_v3", source=DERIVATIVES)
def npu_fusion_attention_grad_v3(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    dy: torch.Tensor,
    head_num: int,
    input_layout: str,
    seed: torch.Tensor | None = None,
    offset: torch.Tensor | None = None,
    actual_seq_qlen: torch.Tensor | None = None,
    actual_seq_kvlen: torch.Tensor | None = None,
    **rest: Any,
) -> tuple[Any, ...]:
    found: tuple[Any, ...] = npu_fusion_attention_grad(
        query,
        key,
        value,
        dy,
        head_num,
        input_layout,
        seed=0 if seed is None or rest.get("keep_prob", 1.0) >= 1.0 else int(seed.item()),
        actual_seq_qlen=listed(actual_seq_qlen),
        actual_seq_kvlen=listed(actual_seq_kvlen),
        **rest,
    )
    return found
