"""Operators with arguments and, for each, the same mathematics in PyTorch's own operators, written apart.

A case gives tensors (those with ``grad`` are differentiated) and two functions of them: the call under test, and the
reference. Both give a tensor or a tuple of tensors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F  # noqa: N812

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class Case:
    name: str
    shapes: dict[str, tuple[int, ...]]
    call: Callable[..., Any]
    reference: Callable[..., Any]
    fixed: dict[str, torch.Tensor] = field(default_factory=dict)
    positive: tuple[str, ...] = ()
    without_gradient: tuple[str, ...] = ()
    gradient_of: tuple[int, ...] = (0,)
    """Outputs through which both sides are differentiated; empty: not differentiable."""
    low_precision: bool = True
    values_only: tuple[int, ...] | None = None

    def inputs(self, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        made = {}
        generator = torch.Generator().manual_seed(3)
        for name, shape in self.shapes.items():
            tensor = torch.randn(shape, generator=generator, dtype=torch.float64)
            if name in self.positive:
                tensor = tensor.abs() + 0.1
            made[name] = tensor.to(dtype)
            if name not in self.without_gradient and self.gradient_of:
                made[name].requires_grad_(True)
        return made


def npu() -> Any:
    return torch.ops.npu


def half_turn(x: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    return torch.cat([-x[..., half:], x[..., :half]], -1)


def pair_turn(x: torch.Tensor) -> torch.Tensor:
    turned = torch.empty_like(x)
    turned[..., 0::2] = -x[..., 1::2]
    turned[..., 1::2] = x[..., 0::2]
    return turned


def rms(x: torch.Tensor, gamma: torch.Tensor, eps: float) -> torch.Tensor:
    return (
        F.rms_norm(x, gamma.shape, gamma, eps)
        if hasattr(F, "rms_norm")
        else x / (x * x).mean(-1, True).add(eps).sqrt() * gamma
    )


MASK = torch.rand(2, 1, 6, 8, generator=torch.Generator().manual_seed(1)) < 0.4
KEPT = torch.tensor([[True, True, False, True, True], [False, True, True, True, False]])
TARGET = torch.tensor([1, 4, 0, 2, 3])
CLASS_WEIGHT = torch.tensor([0.3, 1.0, 0.5, 0.9, 0.2], dtype=torch.float64)

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
    Case(
        "npu_confusion_transpose, first transpose",
        {"x": (2, 3, 4, 6)},
        lambda x: npu().npu_confusion_transpose(x, (0, 2, 1, 3), (2, 4, 18), True),
        lambda x: x.permute(0, 2, 1, 3).reshape(2, 4, 18),
    ),
    Case(
        "npu_confusion_transpose, first reshape",
        {"x": (2, 3, 4, 6)},
        lambda x: npu().npu_confusion_transpose(x, (1, 2, 0), (2, 12, 6), False),
        lambda x: x.reshape(2, 12, 6).permute(1, 2, 0),
    ),
    Case("npu_format_cast", {"x": (2, 3)}, lambda x: npu().npu_format_cast(x, 29), lambda x: x * 1),
    Case("npu_dtype_cast", {"x": (2, 3)}, lambda x: npu().npu_dtype_cast(x, 6), lambda x: x.float()),
    Case(
        "npu_transpose",
        {"x": (2, 3, 4)},
        lambda x: npu().npu_transpose(x, [2, 0, 1]),
        lambda x: x.permute(2, 0, 1),
        gradient_of=(),
    ),
    Case(
        "npu_broadcast",
        {"x": (1, 3)},
        lambda x: npu().npu_broadcast(x, [4, 3]),
        lambda x: x.expand(4, 3),
        gradient_of=(),
    ),
    Case(
        "npu_reshape", {"x": (2, 6)}, lambda x: npu().npu_reshape(x, [3, 4]), lambda x: x.reshape(3, 4), gradient_of=()
    ),
    Case(
        "npu_slice", {"x": (4, 6)}, lambda x: npu().npu_slice(x, [1, 2], [2, 3]), lambda x: x[1:3, 2:5], gradient_of=()
    ),
    Case(
        "npu_pad",
        {"x": (2, 3)},
        lambda x: npu().npu_pad(x, [1, 0, 2, 3]),
        lambda x: F.pad(x, [2, 3, 1, 0]),
        gradient_of=(),
    ),
    Case(
        "npu_stride_copy",
        {"x": (12,)},
        lambda x: npu().npu_stride_copy(x, [2, 3], [5, 2], 1),
        lambda x: x.as_strided((2, 3), (5, 2), 1),
        gradient_of=(),
    ),
    Case(
        "npu_indexing",
        {"x": (4, 6)},
        lambda x: npu().npu_indexing(x, [1, 0], [4, 6], [2, 3]),
        lambda x: x[1:4:2, 0:6:3],
        gradient_of=(),
    ),
    Case("npu_max", {"x": (3, 5)}, lambda x: npu().npu_max(x, 1)[0], lambda x: x.max(1).values),
    Case(
        "npu_max keepdim",
        {"x": (3, 5)},
        lambda x: npu().npu_max(x, 0, True)[0],
        lambda x: x.max(0, keepdim=True).values,
    ),
    Case("npu_min", {"x": (3, 5)}, lambda x: npu().npu_min(x, 1)[0], lambda x: x.min(1).values),
    Case(
        "npu_sort_v2",
        {"x": (3, 5)},
        lambda x: npu().npu_sort_v2(x, -1, True),
        lambda x: x.sort(-1, True).values,
        gradient_of=(),
    ),
    Case(
        "npu_linear",
        {"x": (3, 4), "w": (5, 4), "b": (5,)},
        lambda x, w, b: npu().npu_linear(x, w, b),
        lambda x, w, b: x @ w.t() + b,
    ),
    Case(
        "npu_linear without bias",
        {"x": (3, 4), "w": (5, 4)},
        lambda x, w: npu().npu_linear(x, w),
        lambda x, w: x @ w.t(),
    ),
    Case(
        "npu_bmmV2",
        {"x": (2, 3, 4), "y": (2, 4, 5)},
        lambda x, y: npu().npu_bmmV2(x, y, []),
        lambda x, y: torch.bmm(x, y),
    ),
    Case(
        "npu_bmmV2, one of them two-dimensional",
        {"x": (2, 3, 4), "y": (4, 5)},
        lambda x, y: npu().npu_bmmV2(x, y, []),
        lambda x, y: x @ y,
    ),
    Case(
        "npu_convolution",
        {"x": (2, 4, 6, 6), "w": (6, 2, 3, 3), "b": (6,)},
        lambda x, w, b: npu().npu_convolution(x, w, b, [2, 1], [1, 1], [1, 1], 2),
        lambda x, w, b: F.conv2d(x, w, b, (2, 1), 1, 1, 2),
    ),
    Case(
        "npu_convolution_transpose",
        {"x": (2, 4, 5, 5), "w": (4, 3, 3, 3)},
        lambda x, w: npu().npu_convolution_transpose(x, w, None, [1, 1], [1, 1], [2, 2], [1, 1], 1),
        lambda x, w: F.conv_transpose2d(x, w, None, 2, 1, 1),
    ),
    Case(
        "npu_conv2d",
        {"x": (2, 4, 6, 6), "w": (6, 4, 3, 3)},
        lambda x, w: npu().npu_conv2d(x, w, None, [1, 1], [0, 0], [1, 1], 1),
        lambda x, w: F.conv2d(x, w),
        gradient_of=(),
    ),
    Case(
        "npu_softmax_cross_entropy_with_logits",
        {"x": (3, 5), "y": (3, 5)},
        lambda x, y: npu().npu_softmax_cross_entropy_with_logits(x, y),
        lambda x, y: -(y * torch.log_softmax(x, -1)).sum(-1),
        without_gradient=("y",),
    ),
    *[
        Case(
            f"npu_cross_entropy_loss {reduction}",
            {"x": (5, 5)},
            lambda x, how=reduction: npu().npu_cross_entropy_loss(
                x, TARGET, CLASS_WEIGHT.to(torch.float64), how, ignore_index=3, label_smoothing=0.1
            )[:2],
            lambda x, how=reduction: (
                F.cross_entropy(
                    x, TARGET, CLASS_WEIGHT.to(x.dtype), reduction=how, ignore_index=3, label_smoothing=0.1
                ).reshape(-1),
                torch.log_softmax(x, -1),
            ),
            low_precision=False,
        )
        for reduction in ("mean", "sum", "none")
    ],
    Case(
        "npu_gather_sparse_index",
        {"x": (4, 3)},
        lambda x: npu().npu_gather_sparse_index(x, torch.tensor([[1, 0], [3, 1]])),
        lambda x: x[torch.tensor([[1, 0], [3, 1]])],
    ),
    Case(
        "npu_giou",
        {"a": (4, 6), "b": (4, 6)},
        lambda a, b: npu().npu_giou(a, b, True, False, 0),
        lambda a, b: overlap_measure(a, b, "giou").reshape(-1, 1),
        positive=("a", "b"),
        low_precision=False,
    ),
    Case(
        "npu_diou",
        {"a": (4, 6), "b": (4, 6)},
        lambda a, b: npu().npu_diou(a, b, True, False, 0),
        lambda a, b: overlap_measure(a, b, "diou").reshape(1, -1),
        positive=("a", "b"),
        low_precision=False,
    ),
    Case(
        "npu_ciou",
        {"a": (4, 6), "b": (4, 6)},
        lambda a, b: npu().npu_ciou(a, b, True, False, 0, True),
        lambda a, b: overlap_measure(a, b, "ciou").reshape(1, -1),
        positive=("a", "b"),
        low_precision=False,
    ),
    Case(
        "npu_transpose_batchmatmul",
        {"x": (3, 2, 4), "w": (2, 4, 5)},
        lambda x, w: npu().npu_transpose_batchmatmul(x, w, perm_x1=[1, 0, 2], perm_y=[1, 0, 2]),
        lambda x, w: torch.einsum("sbk,bkn->sbn", x, w),
        gradient_of=(),
    ),
    Case(
        "npu_masked_causal_conv1d",
        {"x": (5, 2, 4), "w": (3, 4)},
        lambda x, w: npu().npu_masked_causal_conv1d(x, w, mask=KEPT),
        lambda x, w: (
            F.conv1d(F.pad(x.permute(1, 2, 0), [2, 0]), w.t().unsqueeze(1), groups=4).permute(2, 0, 1)
            * KEPT.t().unsqueeze(-1)
        ),
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


def overlap_measure(a: torch.Tensor, b: torch.Tensor, kind: str) -> torch.Tensor:
    """GIoU, DIoU, CIoU of boxes (4, n) given by centre and size, one at a time."""
    results = []
    for (ax, ay, aw, ah), (bx, by, bw, bh) in zip(a.t(), b.t(), strict=True):
        left, right = torch.max(ax - aw / 2, bx - bw / 2), torch.min(ax + aw / 2, bx + bw / 2)
        top, bottom = torch.max(ay - ah / 2, by - bh / 2), torch.min(ay + ah / 2, by + bh / 2)
        shared = (right - left).clamp(min=0) * (bottom - top).clamp(min=0)
        union = aw * ah + bw * bh - shared
        hull_w = torch.max(ax + aw / 2, bx + bw / 2) - torch.min(ax - aw / 2, bx - bw / 2)
        hull_h = torch.max(ay + ah / 2, by + bh / 2) - torch.min(ay - ah / 2, by - bh / 2)
        value = shared / union
        if kind == "giou":
            value = value - (hull_w * hull_h - union) / (hull_w * hull_h)
        else:
            value = value - ((ax - bx) ** 2 + (ay - by) ** 2) / (hull_w**2 + hull_h**2)
        if kind == "ciou":
            v = 4 / math.pi**2 * (torch.atan(bw / bh) - torch.atan(aw / ah)) ** 2
            value = value - v * (v / (1 - shared / union + v)).detach()
        results.append(value)
    return torch.stack(results)
