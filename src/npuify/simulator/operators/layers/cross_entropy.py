"""Cross entropy with its log-probabilities."""

from __future__ import annotations

from typing import Any

import torch

from npuify.simulator.operators.checks import require, working
from npuify.simulator.operators.table import DERIVATIVES, operator

_NAME = "npu_cross_entropy_loss"


def _formula(a: Any, r: tuple[Any, ...], g: tuple[Any, ...]) -> tuple[Any, ...]:
    return (
        torch.ops.npu.npu_cross_entropy_loss_backward(
            g[0],
            r[1],
            a.target,
            weight=a.weight,
            grad_zloss=None,
            lse_for_zloss=None,
            reduction=a.reduction,
            ignore_index=a.ignore_index,
            label_smoothing=a.label_smoothing,
            lse_square_scale_for_zloss=a.lse_square_scale_for_zloss,
        ),
    )


def _weights(
    log_prob: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None, ignore_index: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Targets that may be indexed, their weights (0 where ignored), and the weight of each class."""
    counted = target != ignore_index
    safe = target.masked_fill(~counted, 0)
    each = torch.ones(log_prob.shape[1], dtype=log_prob.dtype, device=log_prob.device) if weight is None else weight
    each = each.to(log_prob.dtype)
    return safe, each[safe] * counted, each


@operator(_NAME, gradients=("input",), formula=_formula, note="without z-loss, as on the device")
def npu_cross_entropy_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    lse_square_scale_for_zloss: float = 0.0,
    return_zloss: bool = False,
) -> tuple[torch.Tensor, ...]:
    require(input.dim() == 2, _NAME, f"the input is (N, C), not {tuple(input.shape)}")
    require(target.shape == input.shape[:1], _NAME, f"the target is (N,), not {tuple(target.shape)}")
    require(reduction in ("mean", "sum", "none"), _NAME, f"reduction {reduction!r} is not supported")
    require(lse_square_scale_for_zloss == 0.0 and not return_zloss, _NAME, "z-loss is not supported")
    log_prob = torch.log_softmax(input.to(working(input)), dim=-1)
    safe, own, each = _weights(log_prob, target, weight, ignore_index)
    hard = -log_prob.gather(1, safe.unsqueeze(1)).squeeze(1) * own
    smooth = -(log_prob * each).sum(dim=1) * (target != ignore_index) / input.shape[1]
    loss = (1 - label_smoothing) * hard + label_smoothing * smooth if label_smoothing else hard
    if reduction == "sum":
        loss = loss.sum().reshape(1)
    elif reduction == "mean":
        loss = (loss.sum() / own.sum()).reshape(1)
    empty = input.new_empty([0])
    return loss.to(input.dtype), log_prob.to(input.dtype), empty, empty.clone()


@operator("npu_cross_entropy_loss_backward", source=DERIVATIVES)
def npu_cross_entropy_loss_backward(
    grad_loss: torch.Tensor,
    log_prob: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    grad_zloss: torch.Tensor | None = None,
    lse_for_zloss: torch.Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    lse_square_scale_for_zloss: float = 0.0,
) -> torch.Tensor:
    wide = log_prob.to(working(log_prob))
    safe, own, each = _weights(wide, target, weight, ignore_index)
    outer = grad_loss.to(wide.dtype).expand(target.shape)
    if reduction == "mean":
        outer = outer / own.sum()
    counted = (target != ignore_index).to(wide.dtype)
    # d loss / d log_prob, then through log_softmax: g - softmax * sum(g).
    pulled = torch.zeros_like(wide).scatter(1, safe.unsqueeze(1), -(own * (1 - label_smoothing)).unsqueeze(1))
    if label_smoothing:
        pulled = pulled - label_smoothing / wide.shape[1] * each * counted.unsqueeze(1)
    pulled = pulled * outer.unsqueeze(1)
    return (pulled - wide.exp() * pulled.sum(dim=1, keepdim=True)).to(log_prob.dtype)
