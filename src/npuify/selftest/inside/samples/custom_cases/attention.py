"""Rotary embeddings, and the softmax of attention."""

from __future__ import annotations

import torch

from npuify.selftest.inside.samples.custom_cases.case import Case, npu

MASK = torch.rand(2, 1, 6, 8, generator=torch.Generator().manual_seed(1)) < 0.4


def half_turn(x: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    return torch.cat([-x[..., half:], x[..., :half]], -1)


def pair_turn(x: torch.Tensor) -> torch.Tensor:
    turned = torch.empty_like(x)
    turned[..., 0::2] = -x[..., 1::2]
    turned[..., 1::2] = x[..., 0::2]
    return turned


CASES = [
    Case(
        "npu_rotary_mul half",
        {"x": (2, 3, 4, 8), "cos": (1, 3, 1, 8), "sin": (1, 3, 1, 8)},
        lambda x, cos, sin: npu().npu_rotary_mul(x, cos, sin),
        lambda x, cos, sin: x * cos + half_turn(x) * sin,
    ),
    Case(
        "npu_rotary_mul interleave",
        {"x": (5, 4, 8), "cos": (5, 1, 8), "sin": (5, 1, 8)},
        lambda x, cos, sin: npu().npu_rotary_mul(x, cos, sin, "interleave"),
        lambda x, cos, sin: x * cos + pair_turn(x) * sin,
    ),
    Case(
        "npu_apply_rotary_pos_emb",
        {"q": (2, 3, 4, 8), "k": (2, 3, 2, 8), "cos": (1, 3, 1, 8), "sin": (1, 3, 1, 8)},
        lambda q, k, cos, sin: npu().npu_apply_rotary_pos_emb(q, k, cos, sin),
        lambda q, k, cos, sin: (q * cos + half_turn(q) * sin, k * cos + half_turn(k) * sin),
        gradient_of=(),
    ),
    Case(
        "npu_interleave_rope",
        {"x": (2, 2, 3, 8), "cos": (2, 1, 3, 8), "sin": (2, 1, 3, 8)},
        lambda x, cos, sin: npu().npu_interleave_rope(x, cos, sin),
        lambda x, cos, sin: (lambda q: q * cos + half_turn(q) * sin)(
            x.reshape(2, 2, 3, 4, 2).transpose(-1, -2).reshape(2, 2, 3, 8)
        ),
        gradient_of=(),
    ),
    Case(
        "npu_scaled_masked_softmax",
        {"x": (2, 3, 6, 8)},
        lambda x: npu().npu_scaled_masked_softmax(x, MASK.expand(2, 3, 6, 8), 0.5, False),
        lambda x: torch.softmax((x * 0.5).masked_fill(MASK, -1e4), -1),
    ),
]
