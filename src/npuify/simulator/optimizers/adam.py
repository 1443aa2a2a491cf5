"""Adam (Kingma and Ba, 2015), AdamW (Loshchilov and Hutter, 2019) and AdamP (Heo et al., 2021)."""

from __future__ import annotations

import math
from typing import Any

import torch

from .base import NpuFusedOptimizerBase, kept, require


def check_betas(betas: tuple[float, float]) -> None:
    for index, beta in enumerate(betas):
        require(0.0 <= beta < 1.0, f"beta parameter at index {index}", beta)


def moments(
    gradient: torch.Tensor, state: dict[str, Any], group: dict[str, Any], like: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The running averages of the gradient and of its square, with this gradient in them."""
    beta1, beta2 = group["betas"]
    first, second = kept(state, "exp_avg", like), kept(state, "exp_avg_sq", like)
    first.mul_(beta1).add_(gradient, alpha=1 - beta1)
    second.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
    return first, second


class NpuFusedAdam(NpuFusedOptimizerBase):
    """torch.optim.Adam."""

    _decoupled = False

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
    ) -> None:
        require(lr >= 0.0, "learning rate", lr)
        require(eps >= 0.0, "epsilon value", eps)
        check_betas(betas)
        require(weight_decay >= 0.0, "weight_decay value", weight_decay)
        super().__init__(
            params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad}
        )

    def _update(
        self, parameter: torch.Tensor, gradient: torch.Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> None:
        beta1, beta2 = group["betas"]
        if self._decoupled:
            parameter.mul_(1 - group["lr"] * group["weight_decay"])
        elif group["weight_decay"] != 0:
            gradient = gradient.add(parameter, alpha=group["weight_decay"])
        first, second = moments(gradient, state, group, parameter)
        if group["amsgrad"]:
            largest = kept(state, "max_exp_avg_sq", parameter)
            second = largest.copy_(torch.maximum(largest, second))
        divisor = (second.sqrt() / math.sqrt(1 - beta2 ** state["step"])).add_(group["eps"])
        parameter.addcdiv_(first, divisor, value=-group["lr"] / (1 - beta1 ** state["step"]))


class NpuFusedAdamW(NpuFusedAdam):
    """torch.optim.AdamW."""

    _decoupled = True

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad)


class NpuFusedAdamP(NpuFusedOptimizerBase):
    """Adam that takes out of a step what only makes scale-invariant weights larger."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        delta: float = 0.1,
        wd_ratio: float = 0.1,
        nesterov: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "delta": delta,
                "wd_ratio": wd_ratio,
                "nesterov": nesterov,
            },
        )

    def _update(
        self, parameter: torch.Tensor, gradient: torch.Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> None:
        beta1, beta2 = group["betas"]
        first, second = moments(gradient, state, group, parameter)
        divisor = (second.sqrt() / math.sqrt(1 - beta2 ** state["step"])).add_(group["eps"])
        step = (beta1 * first + (1 - beta1) * gradient if group["nesterov"] else first) / divisor
        ratio = 1.0
        if parameter.dim() > 1:
            step, ratio = _projected(parameter, gradient, step, group)
        if group["weight_decay"] > 0:
            parameter.mul_(1 - group["lr"] * group["weight_decay"] * ratio)
        parameter.add_(step, alpha=-group["lr"] / (1 - beta1 ** state["step"]))


def _projected(
    parameter: torch.Tensor, gradient: torch.Tensor, step: torch.Tensor, group: dict[str, Any]
) -> tuple[torch.Tensor, float]:
    """The step without its part along the weights, by channel or whole, where gradient and weights are orthogonal."""
    eps = group["eps"]
    for rows in (parameter.shape[0], 1):
        weights, slopes = parameter.reshape(rows, -1), gradient.reshape(rows, -1)
        size = weights.norm(dim=1)
        cosine = (weights * slopes).sum(dim=1).abs() / (size + eps) / (slopes.norm(dim=1) + eps)
        if cosine.max() < group["delta"] / math.sqrt(weights.shape[1]):
            unit = weights / (size + eps).unsqueeze(1)
            flat = step.reshape(rows, -1)
            flat = flat - unit * (unit * flat).sum(dim=1, keepdim=True)
            return flat.reshape(step.shape), group["wd_ratio"]
    return step, 1.0
