"""Softmax fused with scaling, masking or dropout."""

from __future__ import annotations

from typing import Any

import torch

from npuify.simulator.operators.checks import require, working
from npuify.simulator.operators.table import DERIVATIVES, DOCUMENTS, operator

_BETA = f"{DOCUMENTS}（beta）torch_npu-"


def scaled_masked_softmax(x: torch.Tensor, mask: torch.Tensor, scale: float, fixed: bool) -> torch.Tensor:
    name = "npu_scaled_masked_softmax"
    require(mask.dtype is torch.bool, name, f"mask is bool, not {mask.dtype}")
    require(not fixed, name, "fixed_triu_mask is not supported")
    wide = x.to(working(x)) * scale
    # Masked scores are -10000, not minus infinity: a row that is masked whole gives equal shares.
    return torch.softmax(wide.masked_fill(mask, -10000.0), dim=-1).to(x.dtype)


@operator(
    "npu_scaled_masked_softmax",
    gradients=("x",),
    formula=lambda a, r, g: (
        torch.ops.npu.npu_scaled_masked_softmax_backward(g[0], r[0], a.mask, a.scale, a.fixed_triu_mask),
    ),
    note="sizes that the device refuses (not multiples of 32) are computed",
)
def npu_scaled_masked_softmax(
    x: torch.Tensor, mask: torch.Tensor, scale: float = 1, fixed_triu_mask: bool = False
) -> torch.Tensor:
    return scaled_masked_softmax(x, mask, scale, fixed_triu_mask)


@operator("npu_scaled_masked_softmax_backward", source=DERIVATIVES)
def npu_scaled_masked_softmax_backward(
    y_grad: torch.Tensor, y: torch.Tensor, mask: torch.Tensor, scale: float, fixed_triu_mask: bool
) -> torch.Tensor:
    kind = working(y)
    wide, grad = y.to(kind), y_grad.to(kind)
    inner = wide * (grad - (grad * wide).sum(dim=-1, keepdim=True))
    return (inner.masked_fill(mask, 0.0) * scale).to(y.dtype)


@operator(
    "npu_masked_softmax_with_rel_pos_bias", source="CANN operator MaskedSoftmaxWithRelPosBias", evidence="assumed"
)
def npu_masked_softmax_with_rel_pos_bias(
    x: torch.Tensor,
    atten_mask: torch.Tensor | None,
    relative_pos_bias: torch.Tensor,
    scale_value: float = 1.0,
    inner_precision_mode: int = 0,
) -> torch.Tensor:
    kind = working(x)
    scores = x.to(kind) * scale_value + relative_pos_bias.to(kind)
    if atten_mask is not None:
        scores = scores + atten_mask.to(kind)
    return torch.softmax(scores, dim=-1).to(x.dtype)


@operator(
    "npu_dropout_with_add_softmax",
    source=f"{_BETA}npu_dropout_with_add_softmax.md",
    gradients=("self", "x1"),
    outputs=(2,),
    formula=lambda a, r, g: torch.ops.npu.npu_dropout_with_add_softmax_backward(
        g[2], r[0], r[1], a.alpha, a.prob, a.dim
    ),
    note="one byte of the mask for each element; the device packs eight elements into one",
)
def npu_dropout_with_add_softmax(
    self: torch.Tensor, x1: torch.Tensor, alpha: float, prob: float, dim: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    name = "npu_dropout_with_add_softmax"
    require(self.shape == x1.shape, name, "self and x1 differ in shape")
    require(0.0 <= prob < 1.0, name, f"prob is in [0, 1), not {prob}")
    kind = working(self)
    softmax = torch.softmax(self.to(kind) * alpha + x1.to(kind), dim=dim)
    mask = torch.empty_like(softmax).bernoulli_(1.0 - prob)
    return mask.to(torch.uint8), softmax.to(self.dtype), (softmax * mask / (1.0 - prob)).to(self.dtype)


@operator("npu_dropout_with_add_softmax_backward", source=DERIVATIVES)
def npu_dropout_with_add_softmax_backward(
    grad: torch.Tensor, mask: torch.Tensor, softmax_out: torch.Tensor, alpha: float, prob: float, dim: int
) -> tuple[torch.Tensor, torch.Tensor]:
    kind = working(softmax_out)
    soft = softmax_out.to(kind)
    inner = grad.to(kind) * mask.to(kind) / (1.0 - prob)
    found = soft * (inner - (inner * soft).sum(dim=dim, keepdim=True))
    return (found * alpha).to(softmax_out.dtype), found.to(softmax_out.dtype)


def attention_scores(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor,
    scale: float,
    keep: torch.Tensor | None,
    keep_prob: float,
    turned: tuple[bool, bool, bool, bool],
) -> tuple[torch.Tensor, torch.Tensor]:
    """Context, as (B, S, N, D) merged to two dimensions, and the softmax."""
    query_turned, key_turned, value_turned, output_turned = turned
    query = query.transpose(-1, -2) if query_turned else query
    key = key if key_turned else key.transpose(-1, -2)
    value = value.transpose(-1, -2) if value_turned else value
    kind = working(query)
    scores = query.to(kind) @ key.to(kind) * scale + mask.to(kind)
    softmax = torch.softmax(scores, dim=-1)
    weights = softmax if keep is None else softmax * keep.to(kind) / keep_prob
    context = (weights @ value.to(kind)).to(query.dtype)
    if output_turned:
        context = context.transpose(-1, -2)
    batch, heads, length, width = context.shape
    return context.transpose(1, 2).reshape(batch * length, heads * width), softmax.to(query.dtype)


def _score_backward(a: Any, r: tuple[torch.Tensor, ...], g: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    found: tuple[torch.Tensor, ...] = torch.ops.npu.npu_fused_attention_score_backward(
        g[0],
        r[1],
        a.query_layer,
        a.key_layer,
        a.value_layer,
        r[2],
        a.scale,
        a.keep_prob,
        a.query_transpose,
        a.key_transpose,
        a.value_transpose,
        a.dx_transpose,
    )
    return found


@operator(
    "npu_fused_attention_score_fwd",
    source=f"{_BETA}npu_fused_attention_score.md",
    gradients=("query_layer", "key_layer", "value_layer"),
    formula=_score_backward,
)
def npu_fused_attention_score_fwd(
    query_layer: torch.Tensor,
    key_layer: torch.Tensor,
    value_layer: torch.Tensor,
    attention_mask: torch.Tensor,
    scale: float,
    keep_prob: float,
    query_transpose: bool = False,
    key_transpose: bool = False,
    bmm_score_transpose_a: bool = False,
    bmm_score_transpose_b: bool = False,
    value_transpose: bool = False,
    dx_transpose: bool = False,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    rows, columns = query_layer.shape[-2], key_layer.shape[-2]
    keep = torch.ones((*query_layer.shape[:2], rows, columns), dtype=torch.uint8, device=query_layer.device)
    if keep_prob < 1.0:
        keep = keep.float().bernoulli_(keep_prob).to(torch.uint8)
    context, softmax = attention_scores(
        query_layer,
        key_layer,
        value_layer,
        attention_mask,
        scale,
        keep,
        keep_prob,
        (query_transpose, key_transpose, value_transpose, dx_transpose),
    )
    return context, softmax, keep


@operator("npu_fused_attention_score_backward", source=DERIVATIVES)
def npu_fused_attention_score_backward(
    grad_output: torch.Tensor,
    softmax_output: torch.Tensor,
    query_layer: torch.Tensor,
    key_layer: torch.Tensor,
    value_layer: torch.Tensor,
    mask: torch.Tensor,
    scale: float,
    keep_prob: float,
    query_transpose: bool = False,
    key_transpose: bool = False,
    value_transpose: bool = False,
    dx_transpose: bool = False,
) -> tuple[torch.Tensor, ...]:
    batch, heads, length, _ = query_layer.shape
    kind = working(query_layer)
    grad = grad_output.to(kind).reshape(batch, length, heads, -1).transpose(1, 2)
    soft, keep = softmax_output.to(kind), mask.to(kind) / keep_prob
    query, key, value = query_layer.to(kind), key_layer.to(kind), value_layer.to(kind)
    dv = (soft * keep).transpose(-1, -2) @ grad
    dweights = grad @ value.transpose(-1, -2) * keep
    dscores = soft * (dweights - (dweights * soft).sum(dim=-1, keepdim=True)) * scale
    return (
        (dscores @ key).to(query_layer.dtype),
        (dscores.transpose(-1, -2) @ query).to(key_layer.dtype),
        dv.to(value_layer.dtype),
    )


@operator(
    "npu_fused_attention_score",
    source=f"{_BETA}npu_fused_attention_score.md",
    gradients=("query_layer", "key_layer", "value_layer"),
)
def npu_fused_attention_score(
    query_layer: torch.Tensor,
    key_layer: torch.Tensor,
    value_layer: torch.Tensor,
    attention_mask: torch.Tensor,
    scale: float,
    keep_prob: float,
    query_transpose: bool = False,
    key_transpose: bool = False,
    bmm_score_transpose_a: bool = False,
    bmm_score_transpose_b: bool = False,
    value_transpose: bool = False,
    dx_transpose: bool = False,
) -> torch.Tensor:
    if keep_prob < 1.0:
        raise NotImplementedError("torch_npu.npu_fused_attention_score is not simulated with dropout")
    return attention_scores(
        query_layer,
        key_layer,
        value_layer,
        attention_mask,
        scale,
        None,
        keep_prob,
        (query_transpose, key_transpose, value_transpose, dx_transpose),
    )[0]
