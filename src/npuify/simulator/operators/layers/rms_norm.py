"""Normalisation by the root mean square, alone and fused with an addition."""

from __future__ import annotations

from typing import Any

import torch

from npuify.simulator.operators.autograd import vector_jacobian
from npuify.simulator.operators.checks import require, working
from npuify.simulator.operators.table import DERIVATIVES, DOCUMENTS, operator

_BETA = f"{DOCUMENTS}（beta）torch_npu-"


def rms_norm(
    x: torch.Tensor, gamma: torch.Tensor, epsilon: float, operator: str = "npu_rms_norm"
) -> tuple[torch.Tensor, torch.Tensor]:
    """Normalised ``x`` in its own type, and 1/rms over the dimensions of ``gamma``, which are kept with size 1."""
    count = gamma.dim()
    require(
        0 < count <= x.dim() and tuple(x.shape[-count:]) == tuple(gamma.shape),
        operator,
        f"gamma of shape {tuple(gamma.shape)} is not the end of the input's shape {tuple(x.shape)}",
    )
    kind = working(x)
    wide = x.to(kind)
    dims = tuple(range(-count, 0))
    rstd = torch.rsqrt(wide.square().mean(dim=dims, keepdim=True) + epsilon)
    return (wide * rstd * gamma.to(kind)).to(x.dtype), rstd


@operator(
    "npu_rms_norm",
    source=f"{_BETA}npu_rms_norm.md",
    gradients=("self", "gamma"),
    formula=lambda a, r, g: torch.ops.npu.npu_rms_norm_backward(g[0], a.self, a.gamma, r[1]),
)
def npu_rms_norm(self: torch.Tensor, gamma: torch.Tensor, epsilon: float = 1e-6) -> tuple[torch.Tensor, torch.Tensor]:
    return rms_norm(self, gamma, epsilon)


@operator("npu_rms_norm_backward", source=DERIVATIVES)
def npu_rms_norm_backward(
    dy: torch.Tensor, self: torch.Tensor, gamma: torch.Tensor, rstd: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    # With y = x * r * gamma and r = (mean(x^2) + eps)^(-1/2): dr/dx_i = -r^3 x_i / n.
    kind = working(self)
    dims = tuple(range(-gamma.dim(), 0))
    wide, grad, r = self.to(kind), dy.to(kind), rstd.to(kind)
    normal = wide * r
    weighted = grad * gamma.to(kind)
    dx = r * (weighted - normal * (weighted * normal).mean(dim=dims, keepdim=True))
    outer = tuple(range(self.dim() - gamma.dim()))
    dgamma = (grad * normal).sum(dim=outer) if outer else grad * normal
    # The package gives gamma's gradient in float32; autograd then turns it into gamma's type.
    return dx.to(self.dtype), dgamma


@operator("npu_gemma_rms_norm", source="torch_npu/_op_plugin_docs.py", evidence="package")
def npu_gemma_rms_norm(
    self: torch.Tensor, gamma: torch.Tensor, epsilon: float = 1e-6
) -> tuple[torch.Tensor, torch.Tensor]:
    return rms_norm(self, gamma + 1, epsilon, "npu_gemma_rms_norm")


def _add(x1: torch.Tensor, x2: torch.Tensor, operator: str) -> torch.Tensor:
    require(x1.shape == x2.shape, operator, f"x1 and x2 differ in shape: {tuple(x1.shape)}, {tuple(x2.shape)}")
    require(x1.dtype == x2.dtype, operator, f"x1 and x2 differ in type: {x1.dtype}, {x2.dtype}")
    return x1 + x2


@operator("npu_add_rms_norm")
def npu_add_rms_norm(
    x1: torch.Tensor, x2: torch.Tensor, gamma: torch.Tensor, epsilon: float = 1e-6
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    total = _add(x1, x2, "npu_add_rms_norm")
    y, rstd = rms_norm(total, gamma, epsilon, "npu_add_rms_norm")
    return y, rstd, total


@operator("npu_add_rms_norm_cast", source=f"{DOCUMENTS}torch_npu-npu_add_rms_norm.md", evidence="assumed")
def npu_add_rms_norm_cast(
    x1: torch.Tensor, x2: torch.Tensor, gamma: torch.Tensor, epsilon: float = 1e-6
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    total = _add(x1, x2, "npu_add_rms_norm_cast")
    y, rstd = rms_norm(total, gamma, epsilon, "npu_add_rms_norm_cast")
    return y.to(torch.float32), y, rstd, total


def add_layer_norm(
    x1: torch.Tensor, x2: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor, epsilon: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    total = _add(x1, x2, "npu_add_layer_norm")
    kind = working(total)
    wide = total.to(kind)
    dims = tuple(range(-gamma.dim(), 0))
    mean = wide.mean(dim=dims, keepdim=True)
    rstd = torch.rsqrt((wide - mean).square().mean(dim=dims, keepdim=True) + epsilon)
    y = (wide - mean) * rstd * gamma.to(kind) + beta.to(kind)
    return y.to(x1.dtype), mean, rstd, total


def _add_layer_norm_backward(a: Any, r: tuple[torch.Tensor, ...], g: tuple[torch.Tensor, ...]) -> tuple[Any, ...]:
    sum_gradient = g[3] if len(g) > 3 else None
    y_gradient = torch.zeros_like(r[0]) if g[0] is None else g[0]
    found: tuple[Any, ...] = torch.ops.npu.npu_add_layer_norm_backward(
        y_gradient,
        a.x1,
        a.x2,
        r[2],
        r[1],
        a.gamma,
        sum_gradient,
    )
    return found


@operator(
    "npu_add_layer_norm",
    source=DERIVATIVES,
    evidence="assumed",
    gradients=("x1", "x2", "gamma", "beta"),
    outputs=(0, 3),
    formula=_add_layer_norm_backward,
)
def npu_add_layer_norm(
    x1: torch.Tensor,
    x2: torch.Tensor,
    gamma: torch.Tensor,
    beta: torch.Tensor,
    epsilon: float = 1e-5,
    additional_output: bool = False,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    return add_layer_norm(x1, x2, gamma, beta, epsilon)


@operator("npu_add_layer_norm_backward", source=DERIVATIVES)
def npu_add_layer_norm_backward(
    dy_opt: torch.Tensor | None,
    x1: torch.Tensor,
    x2: torch.Tensor,
    rstd: torch.Tensor,
    mean: torch.Tensor,
    gamma: torch.Tensor,
    dsum_opt: torch.Tensor | None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    kind = working(x1)
    dims = tuple(range(-gamma.dim(), 0))
    outer = tuple(range(x1.dim() - gamma.dim()))
    normal = ((x1 + x2).to(kind) - mean.to(kind)) * rstd.to(kind)
    grad = torch.zeros_like(normal) if dy_opt is None else dy_opt.to(kind)
    weighted = grad * gamma.to(kind)
    dx = rstd.to(kind) * (
        weighted - weighted.mean(dim=dims, keepdim=True) - normal * (weighted * normal).mean(dim=dims, keepdim=True)
    )
    if dsum_opt is not None:
        dx = dx + dsum_opt.to(kind)
    dgamma = (grad * normal).sum(dim=outer) if outer else grad * normal
    dbeta = grad.sum(dim=outer) if outer else grad
    return dx.to(x1.dtype), dx.to(x2.dtype), dgamma.to(gamma.dtype), dbeta.to(gamma.dtype)


def deep_norm(
    x: torch.Tensor, gx: torch.Tensor, beta: torch.Tensor, gamma: torch.Tensor, alpha: float, epsilon: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Mean, rstd and ``LayerNorm(alpha * x + gx)``, the normalisation of DeepNet (Wang et al., 2022)."""
    require(x.shape == gx.shape, "npu_deep_norm", "x and gx differ in shape")
    kind = working(x)
    total = alpha * x.to(kind) + gx.to(kind)
    dims = tuple(range(-gamma.dim(), 0))
    mean = total.mean(dim=dims, keepdim=True)
    rstd = torch.rsqrt((total - mean).square().mean(dim=dims, keepdim=True) + epsilon)
    y = (total - mean) * rstd * gamma.to(kind) + beta.to(kind)
    return mean, rstd, y.to(x.dtype)


@operator(
    "npu_deep_norm",
    source="Wang et al., DeepNet (2022); " + DERIVATIVES,
    gradients=("x", "gx", "beta", "gamma"),
    outputs=(2,),
    formula=lambda a, r, g: torch.ops.npu.npu_deep_norm_backward(g[2], a.x, a.gx, a.gamma, r[0], r[1], a.alpha),
)
def npu_deep_norm(
    x: torch.Tensor,
    gx: torch.Tensor,
    beta: torch.Tensor,
    gamma: torch.Tensor,
    alpha: float = 0.3,
    epsilon: float = 1e-6,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return deep_norm(x, gx, beta, gamma, alpha, epsilon)


@operator("npu_deep_norm_backward", source=DERIVATIVES)
def npu_deep_norm_backward(
    dy: torch.Tensor,
    x: torch.Tensor,
    gx: torch.Tensor,
    gamma: torch.Tensor,
    mean: torch.Tensor,
    rstd: torch.Tensor,
    alpha: float = 0.3,
) -> tuple[torch.Tensor, ...]:
    def again(x: torch.Tensor, gx: torch.Tensor, beta: torch.Tensor, gamma: torch.Tensor) -> torch.Tensor:
        total = alpha * x.to(kind) + gx.to(kind)
        dims = tuple(range(-gamma.dim(), 0))
        centred = total - total.mean(dim=dims, keepdim=True)
        # The saved rstd says which epsilon forward had, which this operator is not told.
        variance = centred.square().mean(dim=dims, keepdim=True)
        epsilon = rstd.to(kind).pow(-2) - variance.detach()
        return (centred * torch.rsqrt(variance + epsilon) * gamma.to(kind) + beta.to(kind)).to(x.dtype)

    kind = working(x)
    return vector_jacobian(again, [x, gx, torch.zeros_like(gamma), gamma], [dy])
