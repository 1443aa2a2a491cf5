"""Activations and gated units."""

from __future__ import annotations

import math

import torch
from torch.nn import functional

from npuify.simulator.operators.autograd import vector_jacobian
from npuify.simulator.operators.checks import require, working
from npuify.simulator.operators.table import DERIVATIVES, DOCUMENTS, operator

_BETA = f"{DOCUMENTS}（beta）torch_npu-"


def gelu(x: torch.Tensor, approximate: str) -> torch.Tensor:
    require(approximate in ("none", "tanh"), "npu_gelu", f"approximate is 'none' or 'tanh', not {approximate!r}")
    wide = x.to(working(x))
    if approximate == "none":
        result = 0.5 * wide * (1 + torch.erf(wide / math.sqrt(2)))
    else:
        result = 0.5 * wide * (1 + torch.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3)))
    return result.to(x.dtype)


def fast_gelu(x: torch.Tensor) -> torch.Tensor:
    wide = x.to(working(x))
    return (wide * torch.sigmoid(1.702 * wide)).to(x.dtype)


def silu(x: torch.Tensor) -> torch.Tensor:
    wide = x.to(working(x))
    return (wide * torch.sigmoid(wide)).to(x.dtype)


def mish(x: torch.Tensor) -> torch.Tensor:
    wide = x.to(working(x))
    return (wide * torch.tanh(functional.softplus(wide))).to(x.dtype)


def swiglu(x: torch.Tensor, dim: int) -> torch.Tensor:
    left, right = _halves(x, dim, "npu_swiglu")
    wide = left.to(working(x))
    return (wide * torch.sigmoid(wide) * right.to(working(x))).to(x.dtype)


def _halves(x: torch.Tensor, dim: int, name: str) -> tuple[torch.Tensor, torch.Tensor]:
    require(x.dim() > 0 and -x.dim() <= dim < x.dim(), name, f"dim {dim} is out of range for {x.dim()} dimensions")
    require(x.shape[dim] % 2 == 0, name, f"dimension {dim} has the odd size {x.shape[dim]} and cannot be halved")
    left, right = x.chunk(2, dim=dim)
    return left, right


@operator(
    "npu_gelu",
    gradients=("self",),
    formula=lambda a, r, g: (torch.ops.npu.npu_gelu_backward(g[0], a.self, approximate=a.approximate),),
)
def npu_gelu(self: torch.Tensor, approximate: str = "none") -> torch.Tensor:
    return gelu(self, approximate)


@operator("npu_gelu_backward", source=DERIVATIVES)
def npu_gelu_backward(grad_output: torch.Tensor, self: torch.Tensor, approximate: str = "none") -> torch.Tensor:
    return vector_jacobian(lambda x: gelu(x, approximate), [self], [grad_output])[0]


@operator(
    "npu_fast_gelu",
    gradients=("self",),
    formula=lambda a, r, g: (torch.ops.npu.npu_fast_gelu_backward(g[0], a.self),),
    note="the formula of Atlas A2 and later; first-generation devices use another",
)
def npu_fast_gelu(self: torch.Tensor) -> torch.Tensor:
    return fast_gelu(self)


@operator(
    "fast_gelu",
    source=f"{_BETA}fast_gelu.md",
    gradients=("self",),
    formula=lambda a, r, g: (torch.ops.npu.npu_fast_gelu_backward(g[0], a.self),),
)
def old_fast_gelu(self: torch.Tensor) -> torch.Tensor:
    return fast_gelu(self)


@operator("npu_fast_gelu_backward", source=DERIVATIVES)
def npu_fast_gelu_backward(grad: torch.Tensor, self: torch.Tensor) -> torch.Tensor:
    return vector_jacobian(fast_gelu, [self], [grad])[0]


@operator(
    "npu_silu",
    source=f"{_BETA}npu_silu.md",
    gradients=("self",),
    formula=lambda a, r, g: (torch.ops.npu.npu_silu_backward(g[0], a.self, r[0]),),
)
def npu_silu(self: torch.Tensor) -> torch.Tensor:
    return silu(self)


@operator("npu_silu_backward", source=DERIVATIVES)
def npu_silu_backward(grad_output: torch.Tensor, x0: torch.Tensor, x1: torch.Tensor) -> torch.Tensor:
    return vector_jacobian(silu, [x0], [grad_output])[0]


@operator(
    "npu_mish",
    source=f"{_BETA}npu_mish.md",
    gradients=("self",),
    formula=lambda a, r, g: (torch.ops.npu.npu_mish_backward(g[0], a.self),),
)
def npu_mish(self: torch.Tensor) -> torch.Tensor:
    return mish(self)


@operator("npu_mish_backward", source=DERIVATIVES)
def npu_mish_backward(grad: torch.Tensor, input: torch.Tensor) -> torch.Tensor:
    return vector_jacobian(mish, [input], [grad])[0]


@operator(
    "npu_swiglu",
    source=f"{_BETA}npu_swiglu.md",
    gradients=("self",),
    formula=lambda a, r, g: (torch.ops.npu.npu_swiglu_backward(g[0], a.self, a.dim),),
)
def npu_swiglu(self: torch.Tensor, dim: int = -1) -> torch.Tensor:
    return swiglu(self, dim)


@operator("npu_swiglu_backward", source=DERIVATIVES)
def npu_swiglu_backward(grad_output: torch.Tensor, self: torch.Tensor, dim: int = -1) -> torch.Tensor:
    return vector_jacobian(lambda x: swiglu(x, dim), [self], [grad_output])[0]


def geglu(x: torch.Tensor, dim: int, approximate: int, activate_left: bool) -> tuple[torch.Tensor, torch.Tensor]:
    left, right = _halves(x, dim, "npu_geglu")
    if activate_left:
        left, right = right, left
    active = gelu(right, "tanh" if approximate == 1 else "none")
    return left * active, active


@operator(
    "npu_geglu",
    source="torch_npu/_op_plugin_docs.py",
    evidence="package",
    gradients=("self",),
    formula=lambda a, r, g: (torch.ops.npu.npu_geglu_grad(g[0], a.self, r[1], a.dim, a.approximate, a.activate_left),),
)
def npu_geglu(
    self: torch.Tensor, dim: int = -1, approximate: int = 1, activate_left: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    return geglu(self, dim, approximate, activate_left)


@operator("npu_geglu_grad", source=DERIVATIVES)
def npu_geglu_grad(
    grad_output: torch.Tensor,
    self: torch.Tensor,
    gelu: torch.Tensor,
    dim: int = -1,
    approximate: int = 1,
    activate_left: bool = False,
) -> torch.Tensor:
    found = vector_jacobian(lambda x: geglu(x, dim, approximate, activate_left), [self], [grad_output, None])
    return found[0]


@operator("npu_gelu_mul")
def npu_gelu_mul(input: torch.Tensor, approximate: str = "none") -> torch.Tensor:
    left, right = _halves(input, -1, "npu_gelu_mul")
    return gelu(left, approximate) * right


@operator("npu_clipped_swiglu", note="without group_index")
def npu_clipped_swiglu(
    x: torch.Tensor,
    dim: int = -1,
    alpha: float = 1.702,
    limit: float = 7.0,
    bias: float = 1.0,
    interleaved: bool = True,
) -> torch.Tensor:
    axis = dim % x.dim()
    name = "npu_clipped_swiglu"
    require(x.shape[axis] % 2 == 0, name, f"dimension {dim} has the odd size {x.shape[axis]} and cannot be halved")
    kind = working(x)
    # The dimension to halve and all behind it count as one, as the elements lie in memory.
    flat = x.to(kind).reshape(*x.shape[:axis], -1)
    if interleaved:
        left, right = flat[..., ::2], flat[..., 1::2]
    else:
        left, right = flat.chunk(2, dim=-1)
    left, right = left.clamp(max=limit), right.clamp(-limit, limit)
    active = left * torch.sigmoid(alpha * left) * (right + bias)
    shape = [*x.shape[:axis], x.shape[axis] // 2, *x.shape[axis + 1 :]]
    return active.reshape(shape).to(x.dtype)
