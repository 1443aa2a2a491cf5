"""Gradients of losses, and cross entropy with given probabilities."""

from __future__ import annotations

import torch
from torch.nn import functional

from npuify.simulator.operators.autograd import vector_jacobian
from npuify.simulator.operators.checks import require, working
from npuify.simulator.operators.table import DERIVATIVES, DOCUMENTS, operator

_REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}


def softmax_cross_entropy(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    kind = working(x)
    return -(labels.to(kind) * torch.log_softmax(x.to(kind), dim=-1)).sum(dim=-1).to(x.dtype)


@operator(
    "npu_softmax_cross_entropy_with_logits",
    source=f"{DOCUMENTS}（beta）torch_npu-npu_softmax_cross_entropy_with_logits.md",
    gradients=("self",),
    formula=lambda a, r, g: (torch.ops.npu.npu_softmax_cross_entropy_with_logits_backward(g[0], a.self, a.labels),),
)
def npu_softmax_cross_entropy_with_logits(self: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    name = "npu_softmax_cross_entropy_with_logits"
    require(self.shape == labels.shape, name, "features and labels differ in shape")
    return softmax_cross_entropy(self, labels)


@operator("npu_softmax_cross_entropy_with_logits_backward", source=DERIVATIVES)
def npu_softmax_cross_entropy_with_logits_backward(
    grad: torch.Tensor, self: torch.Tensor, labels: torch.Tensor
) -> torch.Tensor:
    found = vector_jacobian(lambda x: softmax_cross_entropy(x, labels), [self], [grad])
    return found[0]


@operator("kl_div_backward", source=DERIVATIVES)
def kl_div_backward(
    grad_output: torch.Tensor, self: torch.Tensor, target: torch.Tensor, reduction: int = 1, log_target: bool = False
) -> torch.Tensor:
    found = vector_jacobian(
        lambda x: functional.kl_div(x, target, reduction=_REDUCTIONS[reduction], log_target=log_target),
        [self],
        [grad_output],
    )
    return found[0]


@operator("kl_div_target_backward", source=DERIVATIVES)
def kl_div_target_backward(
    grad_output: torch.Tensor, self: torch.Tensor, target: torch.Tensor, reduction: int = 1, log_target: bool = False
) -> torch.Tensor:
    found = vector_jacobian(
        lambda x: functional.kl_div(self, x, reduction=_REDUCTIONS[reduction], log_target=log_target),
        [target],
        [grad_output],
    )
    return found[0]


@operator("l1_loss_backward", source=DERIVATIVES)
def l1_loss_backward(
    grad_output: torch.Tensor, self: torch.Tensor, target: torch.Tensor, reduction: int
) -> torch.Tensor:
    found = vector_jacobian(
        lambda x: functional.l1_loss(x, target, reduction=_REDUCTIONS[reduction]), [self], [grad_output]
    )
    return found[0]


@operator("npu_binary_cross_entropy_with_logits_backward", source=DERIVATIVES)
def npu_binary_cross_entropy_with_logits_backward(
    grad_output: torch.Tensor,
    self: torch.Tensor,
    target: torch.Tensor,
    weight_opt: torch.Tensor | None,
    pos_weight_opt: torch.Tensor | None,
    reduction: int,
) -> torch.Tensor:
    found = vector_jacobian(
        lambda x: functional.binary_cross_entropy_with_logits(
            x, target, weight=weight_opt, pos_weight=pos_weight_opt, reduction=_REDUCTIONS[reduction]
        ),
        [self],
        [grad_output],
    )
    return found[0]
