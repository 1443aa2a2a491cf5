"""Rotary position embedding."""

from __future__ import annotations

from typing import Any

import torch

from npuify.simulator.operators.autograd import vector_jacobian
from npuify.simulator.operators.checks import require, working
from npuify.simulator.operators.table import DERIVATIVES, DOCUMENTS, operator


def rotate(x: torch.Tensor, mode: str, operator: str) -> torch.Tensor:
    """The input turned by a quarter: by halves, or by neighbours."""
    require(x.shape[-1] % 2 == 0, operator, f"the last dimension has the odd size {x.shape[-1]}")
    if mode == "half":
        first, second = x.chunk(2, dim=-1)
        return torch.cat((-second, first), dim=-1)
    require(mode == "interleave", operator, f"rotary_mode is 'half' or 'interleave', not {mode!r}")
    return torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)


def rotary_mul(
    x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, mode: str, matrix: torch.Tensor | None = None
) -> torch.Tensor:
    require(x.dim() in (3, 4), "npu_rotary_mul", f"the input has 3 or 4 dimensions, not {x.dim()}")
    require(
        cos.dim() == x.dim() and sin.shape == cos.shape and cos.shape[-1] == x.shape[-1],
        "npu_rotary_mul",
        f"r1 {tuple(cos.shape)} and r2 {tuple(sin.shape)} do not fit the input {tuple(x.shape)}",
    )
    kind = working(x)
    wide = x.to(kind)
    turned = rotate(wide, mode, "npu_rotary_mul") if matrix is None else wide @ matrix.to(kind)
    return (wide * cos.to(kind) + turned * sin.to(kind)).to(x.dtype)


def _backward(a: Any, r: tuple[torch.Tensor, ...], g: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    mode = getattr(a, "rotary_mode", "half")
    rest = (mode,) if hasattr(a, "rotary_mode") else ()
    found: tuple[torch.Tensor, ...] = torch.ops.npu.npu_rotary_mul_backward(
        g[0],
        a.self,
        a.r1,
        a.r2,
        *rest,
    )
    return found


@operator("npu_rotary_mul", gradients=("self", "r1", "r2"), formula=_backward)
def npu_rotary_mul(
    self: torch.Tensor,
    r1: torch.Tensor,
    r2: torch.Tensor,
    rotary_mode: str = "half",
    rotate: torch.Tensor | None = None,
) -> torch.Tensor:
    return rotary_mul(self, r1, r2, rotary_mode, rotate)


@operator("npu_rotary_mul_backward", source=DERIVATIVES)
def npu_rotary_mul_backward(
    grad: torch.Tensor, self: torch.Tensor, r1: torch.Tensor, r2: torch.Tensor, rotary_mode: str = "half"
) -> tuple[torch.Tensor, ...]:
    return vector_jacobian(lambda x, cos, sin: rotary_mul(x, cos, sin, rotary_mode), [self, r1, r2], [grad])


@operator("npu_apply_rotary_pos_emb", source=f"{DOCUMENTS}torch_npu-apply_rotary_pos_emb.md")
def npu_apply_rotary_pos_emb(
    query: torch.Tensor,
    key: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    layout: str = "BSND",
    rotary_mode: str = "half",
) -> tuple[torch.Tensor, torch.Tensor]:
    name = "npu_apply_rotary_pos_emb"
    require(layout in ("BSH", "BSND", "SBND", "BNSD", "TND"), name, f"layout {layout!r} is not supported")
    return tuple((x * cos + rotate(x, rotary_mode, name) * sin).to(x.dtype) for x in (query, key))


@operator("npu_interleave_rope")
def npu_interleave_rope(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    require(x.dim() == 4, "npu_interleave_rope", f"x has 4 dimensions, not {x.dim()}")
    kind = working(x)
    paired = torch.cat((x[..., ::2], x[..., 1::2]), dim=-1).to(kind)
    return (paired * cos.to(kind) + rotate(paired, "half", "npu_interleave_rope") * sin.to(kind)).to(x.dtype)
