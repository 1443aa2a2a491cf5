"""Fused attention in the forms that rules write, forward and backward, against attention in float32 on the CPU."""

from __future__ import annotations

import math
from typing import Any

from npuify.selftest.inside.agree import difference
from npuify.selftest.inside.ask import CannotAsk, kernels_missing

FORMS = (
    "BNSD",
    "BSND",
    "BSH",
    "SBH",
    "TND",
    "BNSD causal",
    "BSND causal",
    "BSND masked",
    "BSND fewer heads of keys",
    "BSND scaled",
    "BSND longer keys",
    "sdpa",
    "sdpa causal",
    "sdpa masked",
)
_BATCH, _HEADS, _LENGTH, _DEPTH = 2, 4, 16, 32


def disagreement(form: str, dtype: str) -> str:
    """What is wrong with the result or the gradients of queries, keys and values; empty where they agree."""
    import torch

    kind = getattr(torch, dtype)
    if dtype == "bfloat16" and not torch.npu.is_bf16_supported():
        raise CannotAsk("the chip has no bfloat16")
    generator = torch.Generator().manual_seed(11)
    keys = _LENGTH * 2 if "longer" in form else _LENGTH
    heads = 2 if "fewer" in form else _HEADS
    sizes = [(_BATCH, _HEADS, _LENGTH, _DEPTH), (_BATCH, heads, keys, _DEPTH), (_BATCH, heads, keys, _DEPTH)]
    given = [torch.randn(size, generator=generator).to(kind) for size in sizes]
    mask = None
    if "causal" in form:
        mask = torch.ones(_LENGTH, keys, dtype=torch.bool).triu(1)
    elif "masked" in form:
        mask = torch.rand(_BATCH, 1, _LENGTH, keys, generator=generator) < 0.3
        mask[..., 0] = False
    scale = 0.3 if "scaled" in form else 1 / math.sqrt(_DEPTH)
    wide = [one.float().requires_grad_() for one in given]
    expected = _reference(wide, mask, scale)
    grad = torch.randn(expected.shape, generator=generator).to(kind)
    expected.backward(grad.float())
    own = [one.npu().requires_grad_() for one in given]
    try:
        actual = _fused(form, own, mask, scale)
        actual.backward(grad.npu())
    except RuntimeError as error:
        if kernels_missing(error):
            raise CannotAsk("there is no kernel here") from None
        raise
    wrong = difference(actual, expected.to(kind))
    if wrong:
        return wrong
    for name, one, other in zip("qkv", own, wide, strict=True):
        wrong = difference(one.grad, other.grad.to(kind))
        if wrong:
            return f"gradient of {name} {wrong}"
    return ""


def _reference(given: list[Any], mask: Any, scale: float) -> Any:
    q, k, v = given
    times = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(times, 1), v.repeat_interleave(times, 1)
    scores = q @ k.transpose(-1, -2) * scale
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    return scores.softmax(-1) @ v


def _fused(form: str, given: list[Any], mask: Any, scale: float) -> Any:
    import torch
    import torch_npu

    q, k, v = given
    if form.startswith("sdpa"):
        kept = None if mask is None or "causal" in form else ~mask.npu()
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=kept, is_causal="causal" in form, scale=scale
        )
    layout = form.partition(" ")[0]
    laid = [_laid(one, layout) for one in (q, k, v)]
    more: dict[str, Any] = {"scale": scale, "keep_prob": 1.0}
    if mask is not None:
        more["atten_mask"] = mask.npu()
    if layout == "TND":
        ends = [_LENGTH * (index + 1) for index in range(_BATCH)]
        more |= {"actual_seq_qlen": ends, "actual_seq_kvlen": ends}
    found = torch_npu.npu_fusion_attention(*laid, _HEADS, layout, **more)[0]
    return _back(found, layout)


def _laid(x: Any, layout: str) -> Any:
    b, n, s, d = x.shape
    match layout:
        case "BSND":
            return x.transpose(1, 2)
        case "BSH":
            return x.transpose(1, 2).reshape(b, s, n * d)
        case "SBH":
            return x.permute(2, 0, 1, 3).reshape(s, b, n * d)
        case "TND":
            return x.transpose(1, 2).reshape(b * s, n, d)
        case _:
            return x


def _back(x: Any, layout: str) -> Any:
    match layout:
        case "BSND":
            return x.transpose(1, 2)
        case "BSH":
            return x.reshape(_BATCH, _LENGTH, _HEADS, _DEPTH).transpose(1, 2)
        case "SBH":
            return x.reshape(_LENGTH, _BATCH, _HEADS, _DEPTH).permute(1, 2, 0, 3)
        case "TND":
            return x.reshape(_BATCH, _LENGTH, _HEADS, _DEPTH).transpose(1, 2)
        case _:
            return x
