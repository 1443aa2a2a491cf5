"""Stochastic gradient descent with momentum, as torch.optim.SGD."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .base import NpuFusedOptimizerBase, require

if TYPE_CHECKING:
    import torch


class NpuFusedSGD(NpuFusedOptimizerBase):
    """torch.optim.SGD, without ``maximize``, ``foreach`` and the like."""

    def __init__(
        self,
        params: Any,
        lr: float | None = None,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        if lr is None:
            raise ValueError("parameter group didn't specify a value of required optimization parameter lr")
        require(lr >= 0.0, "learning rate", lr)
        require(momentum >= 0.0, "momentum value", momentum)
        require(weight_decay >= 0.0, "weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
            },
        )

    def _update(
        self, parameter: torch.Tensor, gradient: torch.Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> None:
        state.pop("step")
        if group["weight_decay"] != 0:
            gradient = gradient.add(parameter, alpha=group["weight_decay"])
        if group["momentum"] != 0:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = gradient.clone()
            else:
                buffer.mul_(group["momentum"]).add_(gradient, alpha=1 - group["dampening"])
            gradient = gradient.add(buffer, alpha=group["momentum"]) if group["nesterov"] else buffer
        parameter.add_(gradient, alpha=-group["lr"])
