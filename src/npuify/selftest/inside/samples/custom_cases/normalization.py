"""Normalization layers, alone and fused with an addition or an activation."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812

from npuify.selftest.inside.samples.custom_cases.case import Case, npu


def rms(x: torch.Tensor, gamma: torch.Tensor, eps: float) -> torch.Tensor:
    return (
        F.rms_norm(x, gamma.shape, gamma, eps)
        if hasattr(F, "rms_norm")
        else x / (x * x).mean(-1, True).add(eps).sqrt() * gamma
    )


CASES = [
    Case(
        "npu_rms_norm",
        {"x": (2, 3, 8), "gamma": (8,)},
        lambda x, gamma: npu().npu_rms_norm(x, gamma, 1e-5),
        lambda x, gamma: (
            rms(x, gamma, 1e-5),
            (x.double().square().mean(-1, True) + 1e-5)
            .rsqrt()
            .to(torch.float32 if x.dtype != torch.float64 else x.dtype),
        ),
    ),
    Case(
        "npu_rms_norm over two dimensions",
        {"x": (2, 3, 8), "gamma": (3, 8)},
        lambda x, gamma: npu().npu_rms_norm(x, gamma)[0],
        lambda x, gamma: x / (x.square().mean((1, 2), True) + 1e-6).sqrt() * gamma,
    ),
    Case(
        "npu_gemma_rms_norm",
        {"x": (2, 8), "gamma": (8,)},
        lambda x, gamma: npu().npu_gemma_rms_norm(x, gamma)[0],
        lambda x, gamma: rms(x, 1 + gamma, 1e-6),
        gradient_of=(),
    ),
    Case(
        "npu_add_rms_norm",
        {"a": (2, 8), "b": (2, 8), "gamma": (8,)},
        lambda a, b, gamma: npu().npu_add_rms_norm(a, b, gamma)[::2],
        lambda a, b, gamma: (rms(a + b, gamma, 1e-6), a + b),
        gradient_of=(),
    ),
    Case(
        "npu_add_layer_norm",
        {"a": (2, 8), "b": (2, 8), "gamma": (8,), "beta": (8,)},
        lambda a, b, gamma, beta: npu().npu_add_layer_norm(a, b, gamma, beta)[::3],
        lambda a, b, gamma, beta: (F.layer_norm(a + b, (8,), gamma, beta), a + b),
        gradient_of=(0, 1),
    ),
    Case(
        "npu_deep_norm",
        {"x": (2, 8), "gx": (2, 8), "beta": (8,), "gamma": (8,)},
        lambda x, gx, beta, gamma: npu().npu_deep_norm(x, gx, beta, gamma, 0.4)[2],
        lambda x, gx, beta, gamma: F.layer_norm(0.4 * x + gx, (8,), gamma, beta, 1e-6),
    ),
    Case(
        "npu_layer_norm_eval",
        {"x": (2, 8), "gamma": (8,), "beta": (8,)},
        lambda x, gamma, beta: npu().npu_layer_norm_eval(x, [8], gamma, beta),
        lambda x, gamma, beta: F.layer_norm(x, (8,), gamma, beta),
        gradient_of=(),
    ),
    Case(
        "npu_group_norm_silu",
        {"x": (2, 6, 3, 3), "gamma": (6,), "beta": (6,)},
        lambda x, gamma, beta: npu().npu_group_norm_silu(x, gamma, beta, 3)[0],
        lambda x, gamma, beta: F.silu(F.group_norm(x, 3, gamma, beta)),
        gradient_of=(),
    ),
    Case(
        "npu_group_norm_swish",
        {"x": (2, 6, 3, 3), "gamma": (6,), "beta": (6,)},
        lambda x, gamma, beta: npu().npu_group_norm_swish(x, 3, gamma, beta, swish_scale=1.3)[0],
        lambda x, gamma, beta: (lambda y: y * torch.sigmoid(1.3 * y))(F.group_norm(x, 3, gamma, beta)),
    ),
]
