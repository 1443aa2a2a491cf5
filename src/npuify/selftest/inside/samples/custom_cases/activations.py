"""Activations and the feed-forward layers made of them."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812

from npuify.selftest.inside.samples.custom_cases.case import Case, npu

CASES = [
    Case("npu_gelu", {"x": (3, 8)}, lambda x: npu().npu_gelu(x), lambda x: F.gelu(x)),
    Case(
        "npu_gelu tanh",
        {"x": (3, 8)},
        lambda x: npu().npu_gelu(x, approximate="tanh"),
        lambda x: F.gelu(x, approximate="tanh"),
    ),
    Case("npu_fast_gelu", {"x": (3, 8)}, lambda x: npu().npu_fast_gelu(x), lambda x: x / (1 + torch.exp(-1.702 * x))),
    Case("fast_gelu", {"x": (3, 8)}, lambda x: npu().fast_gelu(x), lambda x: x / (1 + torch.exp(-1.702 * x))),
    Case("npu_silu", {"x": (3, 8)}, lambda x: npu().npu_silu(x), lambda x: F.silu(x)),
    Case("npu_mish", {"x": (3, 8)}, lambda x: npu().npu_mish(x), lambda x: F.mish(x)),
    Case("npu_swiglu", {"x": (3, 8)}, lambda x: npu().npu_swiglu(x), lambda x: F.silu(x[:, :4]) * x[:, 4:]),
    Case("npu_swiglu dim 0", {"x": (6, 5)}, lambda x: npu().npu_swiglu(x, 0), lambda x: F.silu(x[:3]) * x[3:]),
    Case(
        "npu_geglu",
        {"x": (3, 8)},
        lambda x: npu().npu_geglu(x),
        lambda x: (x[:, :4] * F.gelu(x[:, 4:], approximate="tanh"), F.gelu(x[:, 4:], approximate="tanh")),
    ),
    Case(
        "npu_geglu left",
        {"x": (3, 8)},
        lambda x: npu().npu_geglu(x, -1, 0, True),
        lambda x: (x[:, 4:] * F.gelu(x[:, :4]), F.gelu(x[:, :4])),
    ),
    Case(
        "npu_gelu_mul",
        {"x": (3, 8)},
        lambda x: npu().npu_gelu_mul(x),
        lambda x: F.gelu(x[:, :4]) * x[:, 4:],
        gradient_of=(),
    ),
    Case(
        "npu_clipped_swiglu",
        {"x": (3, 8)},
        lambda x: npu().npu_clipped_swiglu(x, alpha=1.5, limit=0.8, bias=0.5),
        lambda x: (lambda a, b: a * torch.sigmoid(1.5 * a) * (b + 0.5))(
            torch.minimum(x[:, 0::2], torch.tensor(0.8, dtype=x.dtype)), x[:, 1::2].clamp(-0.8, 0.8)
        ),
        gradient_of=(),
    ),
    Case(
        "npu_ffn",
        {"x": (3, 4), "w1": (4, 6), "w2": (6, 4)},
        lambda x, w1, w2: npu().npu_ffn(x, w1, w2, "gelu"),
        lambda x, w1, w2: F.gelu(x @ w1) @ w2,
        gradient_of=(),
    ),
    Case(
        "npu_ffn with experts",
        {"x": (5, 4), "w1": (2, 4, 6), "w2": (2, 3, 4)},
        lambda x, w1, w2: npu().npu_ffn(x, w1, w2, "swiglu", expert_tokens=[2, 3]),
        lambda x, w1, w2: torch.cat(
            [(F.silu((p @ w1[i])[:, :3]) * (p @ w1[i])[:, 3:]) @ w2[i] for i, p in enumerate((x[:2], x[2:]))]
        ),
        gradient_of=(),
    ),
]
