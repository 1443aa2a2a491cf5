"""Adadelta (Zeiler, 2012) and RMSprop, as PyTorch has it and as TensorFlow has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .base import NpuFusedOptimizerBase, kept, require

if TYPE_CHECKING:
    import torch


class NpuFusedAdadelta(NpuFusedOptimizerBase):
    """torch.optim.Adadelta."""

    def __init__(
        self, params: Any, lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0
    ) -> None:
        require(lr >= 0.0, "learning rate", lr)
        require(0.0 <= rho <= 1.0, "rho value", rho)
        require(eps >= 0.0, "epsilon value", eps)
        require(weight_decay >= 0.0, "weight_decay value", weight_decay)
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay})

    def _update(
        self, parameter: torch.Tensor, gradient: torch.Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> None:
        rho, eps = group["rho"], group["eps"]
        squares, deltas = kept(state, "square_avg", parameter), kept(state, "acc_delta", parameter)
        if group["weight_decay"] != 0:
            gradient = gradient.add(parameter, alpha=group["weight_decay"])
        squares.mul_(rho).addcmul_(gradient, gradient, value=1 - rho)
        delta = deltas.add(eps).sqrt_().div_(squares.add(eps).sqrt_()).mul_(gradient)
        parameter.add_(delta, alpha=-group["lr"])
        deltas.mul_(rho).addcmul_(delta, delta, value=1 - rho)


class NpuFusedRMSprop(NpuFusedOptimizerBase):
    """torch.optim.RMSprop."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
    ) -> None:
        require(lr >= 0.0, "learning rate", lr)
        require(eps >= 0.0, "epsilon value", eps)
        require(momentum >= 0.0, "momentum value", momentum)
        require(weight_decay >= 0.0, "weight_decay value", weight_decay)
        require(alpha >= 0.0, "alpha value", alpha)
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "alpha": alpha,
                "eps": eps,
                "centered": centered,
                "weight_decay": weight_decay,
            },
        )

    def _update(
        self, parameter: torch.Tensor, gradient: torch.Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> None:
        alpha = group["alpha"]
        squares = kept(state, "square_avg", parameter)
        if group["weight_decay"] != 0:
            gradient = gradient.add(parameter, alpha=group["weight_decay"])
        squares.mul_(alpha).addcmul_(gradient, gradient, value=1 - alpha)
        if group["centered"]:
            mean = kept(state, "grad_avg", parameter)
            mean.mul_(alpha).add_(gradient, alpha=1 - alpha)
            divisor = squares.addcmul(mean, mean, value=-1).sqrt_().add_(group["eps"])
        else:
            divisor = squares.sqrt().add_(group["eps"])
        if group["momentum"] > 0:
            buffer = kept(state, "momentum_buffer", parameter)
            buffer.mul_(group["momentum"]).addcdiv_(gradient, divisor)
            parameter.add_(buffer, alpha=-group["lr"])
        else:
            parameter.addcdiv_(gradient, divisor, value=-group["lr"])


class NpuFusedRMSpropTF(NpuFusedRMSprop):
    """TensorFlow's, as timm has it: squares begin at one, epsilon stands under the root, momentum holds the rate."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        alpha: float = 0.9,
        eps: float = 1e-10,
        weight_decay: float = 0,
        momentum: float = 0.0,
        centered: bool = False,
        decoupled_decay: bool = False,
        lr_in_momentum: bool = True,
    ) -> None:
        super().__init__(params, lr, alpha, eps, weight_decay, momentum, centered)
        for settings in (self.defaults, *self.param_groups):
            settings.setdefault("decoupled_decay", decoupled_decay)
            settings.setdefault("lr_in_momentum", lr_in_momentum)

    def _update(
        self, parameter: torch.Tensor, gradient: torch.Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> None:
        share = 1.0 - group["alpha"]
        squares = kept(state, "square_avg", parameter, 1.0)
        if group["weight_decay"] != 0:
            if group["decoupled_decay"]:
                parameter.mul_(1 - group["weight_decay"])
            else:
                gradient = gradient.add(parameter, alpha=group["weight_decay"])
        squares.add_(gradient.square() - squares, alpha=share)
        if group["centered"]:
            mean = kept(state, "grad_avg", parameter)
            mean.add_(gradient - mean, alpha=share)
            divisor = squares.addcmul(mean, mean, value=-1).add(group["eps"]).sqrt_()
        else:
            divisor = squares.add(group["eps"]).sqrt_()
        if group["momentum"] > 0:
            buffer = kept(state, "momentum_buffer", parameter).mul_(group["momentum"])
            if group["lr_in_momentum"]:
                parameter.sub_(buffer.addcdiv_(gradient, divisor, value=group["lr"]))
            else:
                parameter.add_(buffer.addcdiv_(gradient, divisor), alpha=-group["lr"])
        else:
            parameter.addcdiv_(gradient, divisor, value=-group["lr"])
