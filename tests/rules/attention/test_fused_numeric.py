"""The fused operators that NPU508 suggests compute what the written-out steps compute.

Each operator is a plain function here, written from its description in ``torch_npu/_op_plugin_docs.py``; the advice of the
finding says how it is called.
"""

from __future__ import annotations

from typing import Any

import pytest

from ...harness import findings

torch = pytest.importorskip("torch", reason="needs torch, to compute with")
if not hasattr(torch, "softmax"):
    pytest.skip("needs a real torch, to compute with", allow_module_level=True)


def npu_rms_norm(x: Any, gamma: Any, epsilon: float = 1e-6) -> tuple[Any, Any]:
    rstd = 1 / ((x * x).mean(-1, keepdim=True) + epsilon).sqrt()
    return x * rstd * gamma, rstd


def npu_rotary_mul(x: Any, r1: Any, r2: Any) -> Any:
    assert x.dim() == r1.dim() == r2.dim() == 4
    first, second = x.chunk(2, -1)
    return r1 * x + r2 * torch.cat((-second, first), -1)


def npu_swiglu(x: Any, dim: int = -1) -> Any:
    gate, rest = x.chunk(2, dim)
    return gate * torch.sigmoid(gate) * rest


def made(*shape: int) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(6), dtype=torch.float64, requires_grad=True)


def assert_same(first: Any, second: Any, inputs: list[Any]) -> None:
    weights = torch.linspace(-1, 1, first.numel(), dtype=first.dtype).reshape(first.shape)
    gradients = [torch.autograd.grad((out * weights).sum(), inputs, retain_graph=True) for out in (first, second)]
    torch.testing.assert_close(first, second, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-9, atol=1e-9)


def advice(text: str, operator: str) -> str:
    return next(item.advice for item in findings(text) if item.code == "NPU508" and item.subject == operator)


def test_rms_norm() -> None:
    text = (
        "import torch\nfrom torch import nn\n\n\nclass RMSNorm(nn.Module):\n    def forward(self, x):\n"
        "        x = x.cuda()\n"
        "        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight\n"
    )
    assert "npu_rms_norm(x, weight, epsilon=eps)[0]" in advice(text, "torch_npu.npu_rms_norm")
    x, weight = made(2, 5, 8), made(8)
    for eps in (1e-6, 1e-2):
        written = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight
        assert_same(written, npu_rms_norm(x, weight, epsilon=eps)[0], [x, weight])
        centred = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * (1 + weight)
        assert_same(centred, npu_rms_norm(x, weight + 1, epsilon=eps)[0], [x, weight])


def test_rotary_embedding() -> None:
    text = (
        "import torch\nx = torch.zeros(1).cuda()\n\n\ndef rotate_half(x):\n    a, b = x.chunk(2, -1)\n"
        "    return torch.cat((-b, a), -1)\n"
    )
    assert "npu_rotary_mul(x, cos, sin)" in advice(text, "torch_npu.npu_rotary_mul")
    x, angles = made(2, 3, 5, 8), made(1, 1, 5, 4)
    cos, sin = (torch.cat((half, half), -1) for half in (angles.cos(), angles.sin()))
    first, second = x.chunk(2, -1)
    assert_same(x * cos + torch.cat((-second, first), -1) * sin, npu_rotary_mul(x, cos, sin), [x, angles])


def test_swiglu() -> None:
    text = "import torch\nimport torch.nn.functional as F\n\n\ndef f(gate, up):\n    return F.silu(gate.cuda()) * up\n"
    assert "the gate first" in advice(text, "torch_npu.npu_swiglu")
    gate, up = made(2, 5, 8), made(2, 5, 8)
    written = torch.nn.functional.silu(gate) * up
    assert_same(written, npu_swiglu(torch.cat([gate, up], -1), dim=-1), [gate, up])
    with pytest.raises(AssertionError):
        other = made(2, 5, 9)[..., :8] * 2
        assert_same(torch.nn.functional.silu(other) * up, npu_swiglu(torch.cat([up, other], -1)), [up])
