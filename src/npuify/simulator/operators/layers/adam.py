"""Steps of Adam on one tensor. The results go to ``out=`` arguments; the plain forms are refused, as by the package."""

from __future__ import annotations

import torch

from npuify.simulator.operators.checks import require
from npuify.simulator.operators.table import DOCUMENTS, operator

_BETA = f"{DOCUMENTS}（beta）torch_npu-"
_TESTS = "Ascend/op-plugin@517f2e7d test/test_base_ops/"


def _refused(name: str) -> None:
    @operator(name, source=f"{_BETA}{name}.md")
    def refuse(**_arguments: object) -> None:
        require(False, name, "there is only the form with out=(var, m, v)")


def _targets(
    name: str,
    var: torch.Tensor | None,
    m: torch.Tensor | None,
    v: torch.Tensor | None,
    out: list[torch.Tensor] | None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """What is written: lists of the package name three tensors, its registered schemas one list of three."""
    given = list(out) if out is not None else [tensor for tensor in (var, m, v) if tensor is not None]
    require(len(given) == 3, name, f"out has var, m and v, not {len(given)} tensors")
    return given[0], given[1], given[2]


for _name in ("npu_apply_adam", "npu_apply_adam_w", "npu_bert_apply_adam"):
    _refused(_name)


@operator("npu_apply_adam.out", source=f"{_BETA}npu_apply_adam.md; Kingma and Ba (2015)")
def npu_apply_adam(
    beta1_power: float,
    beta2_power: float,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    grad: torch.Tensor,
    use_locking: bool | None,
    use_nesterov: bool | None,
    var: torch.Tensor | None = None,
    m: torch.Tensor | None = None,
    v: torch.Tensor | None = None,
    out: list[torch.Tensor] | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    var, m, v = _targets("npu_apply_adam", var, m, v, out)
    step = lr * (1 - beta2_power) ** 0.5 / (1 - beta1_power)
    m.add_((grad - m) * (1 - beta1))
    v.add_((grad * grad - v) * (1 - beta2))
    moved = m * beta1 + grad * (1 - beta1) if use_nesterov else m
    var.sub_(moved * step / (v.sqrt() + epsilon))
    return var, m, v


@operator("npu_apply_adam_w.out", source=f"{_TESTS}test_apply_adam_w.py", evidence="package")
def npu_apply_adam_w(
    beta1_power: float,
    beta2_power: float,
    lr: float,
    weight_decay: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    grad: torch.Tensor,
    max_grad_norm: torch.Tensor | None,
    amsgrad: bool | None,
    maximize: bool | None,
    var: torch.Tensor | None = None,
    m: torch.Tensor | None = None,
    v: torch.Tensor | None = None,
    out: list[torch.Tensor] | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    var, m, v = _targets("npu_apply_adam_w", var, m, v, out)
    name = "npu_apply_adam_w"
    require(not amsgrad or max_grad_norm is not None, name, "amsgrad needs max_grad_norm")
    own = -grad if maximize else grad
    m.mul_(beta1).add_(own * (1 - beta1))
    v.mul_(beta2).add_(own * own * (1 - beta2))
    var.mul_(1 - lr * weight_decay)
    # The powers are those before this step.
    first, second = 1 - beta1_power * beta1, 1 - beta2_power * beta2
    if amsgrad:
        assert max_grad_norm is not None
        largest = torch.maximum(max_grad_norm, v)
        max_grad_norm.copy_(largest)
    else:
        largest = v
    var.sub_(lr * m / first / ((largest / second).sqrt() + epsilon))
    return var, m, v


@operator("npu_bert_apply_adam.out", source=f"{_BETA}npu_bert_apply_adam.md", note="adam_mode 0, without step_size")
def npu_bert_apply_adam(
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    grad: torch.Tensor,
    max_grad_norm: float,
    global_grad_norm: float,
    weight_decay: float,
    step_size: float | None,
    adam_mode: int,
    var: torch.Tensor | None = None,
    m: torch.Tensor | None = None,
    v: torch.Tensor | None = None,
    out: list[torch.Tensor] | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    var, m, v = _targets("npu_bert_apply_adam", var, m, v, out)
    if adam_mode != 0 or step_size is not None:
        raise NotImplementedError("torch_npu.npu_bert_apply_adam is not simulated with adam_mode 1 or step_size")
    own = grad
    if max_grad_norm > 0 and global_grad_norm > max_grad_norm:
        own = grad * (max_grad_norm / global_grad_norm)
    m.mul_(beta1).add_(own * (1 - beta1))
    v.mul_(beta2).add_(own * own * (1 - beta2))
    var.sub_(lr * (m / (v.sqrt() + epsilon) + weight_decay * var))
    return var, m, v
