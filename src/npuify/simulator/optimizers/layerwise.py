"""LAMB (You et al., 2020) and the Adam of BERT's original training."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from .adam import check_betas, moments
from .base import NpuFusedOptimizerBase, kept, require

if TYPE_CHECKING:
    from collections.abc import Callable


class NpuFusedLamb(NpuFusedOptimizerBase):
    """Adam's step, scaled for each parameter by the size of its weights; without bias correction."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0,
        adam: bool = False,
        use_global_grad_norm: bool = False,
    ) -> None:
        require(lr >= 0.0, "learning rate", lr)
        check_betas(betas)
        require(eps >= 0.0, "epsilon value", eps)
        self.adam = adam
        self.use_global_grad_norm = use_global_grad_norm
        self.global_grad_norm: torch.Tensor | None = None
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def _before_step(self) -> None:
        if self.use_global_grad_norm:
            squares = [parameter.grad.float().square().sum() for parameter in self._with_gradients()]
            self.global_grad_norm = torch.stack(squares).sum().sqrt() if squares else None

    def _update(
        self, parameter: torch.Tensor, gradient: torch.Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> None:
        if self.global_grad_norm is not None and self.global_grad_norm > 1:
            gradient = gradient / self.global_grad_norm
        first, second = moments(gradient, state, group, parameter)
        step = first / second.sqrt().add(group["eps"])
        if group["weight_decay"] != 0:
            step.add_(parameter, alpha=group["weight_decay"])
        ratio: torch.Tensor | float = 1.0
        if not self.adam:
            weights = parameter.square().sum().sqrt().clamp(0, 10)
            length = step.square().sum().sqrt()
            if weights != 0 and length != 0:
                ratio = weights / length
        parameter.sub_(group["lr"] * ratio * step)


def _cosine(progress: float, warmup: float) -> float:
    return progress / warmup if progress < warmup else 0.5 * (1.0 + math.cos(math.pi * progress))


def _constant(progress: float, warmup: float) -> float:
    return progress / warmup if progress < warmup else 1.0


def _linear(progress: float, warmup: float) -> float:
    return progress / warmup if progress < warmup else max((progress - 1.0) / (warmup - 1.0), 0.0)


def _poly(progress: float, warmup: float, degree: float = 0.5) -> float:
    return progress / warmup if progress < warmup else (1.0 - progress) ** degree


SCHEDULES: dict[str, Callable[[float, float], float]] = {
    "warmup_cosine": _cosine,
    "warmup_constant": _constant,
    "warmup_linear": _linear,
    "warmup_poly": _poly,
}
"""Share of the learning rate, by the part of all steps that is done and the part that warms up."""


class NpuFusedBertAdam(NpuFusedOptimizerBase):
    """Adam without bias correction, with decay beside the step, a schedule, and clipping of each group by itself."""

    def __init__(
        self,
        params: Any,
        lr: float | None = None,
        warmup: float = -1,
        t_total: float = -1,
        schedule: str = "warmup_linear",
        b1: float = 0.9,
        b2: float = 0.999,
        e: float = 1e-6,
        weight_decay: float = 0.01,
        max_grad_norm: float = 1.0,
    ) -> None:
        if lr is None:
            raise ValueError("parameter group didn't specify a value of required optimization parameter lr")
        require(lr >= 0.0, "learning rate", lr)
        require(0.0 <= warmup < 1.0 or warmup == -1, "warmup", warmup)
        require(schedule in SCHEDULES, "schedule parameter", schedule)
        require(0.0 <= b1 < 1.0, "b1 parameter", b1)
        require(0.0 <= b2 < 1.0, "b2 parameter", b2)
        require(e >= 0.0, "epsilon value", e)
        self.max_grad_norm = max_grad_norm
        super().__init__(
            params,
            {
                "lr": lr,
                "schedule": schedule,
                "warmup": warmup,
                "t_total": t_total,
                "b1": b1,
                "b2": b2,
                "e": e,
                "weight_decay": weight_decay,
                "max_grad_norm": max_grad_norm,
            },
        )

    def _before_group(self, group: dict[str, Any], parameters: list[torch.Tensor]) -> None:
        if self.max_grad_norm <= 0:
            return
        for dtype in (torch.float32, torch.float16):
            own = [p.grad for p in parameters if p.dtype is dtype and p.grad is not None]
            if own:
                total = torch.stack([gradient.float().square().sum() for gradient in own]).sum().sqrt()
                factor = self.max_grad_norm / (total + 1e-6)
                if factor < 1.0:
                    for gradient in own:
                        gradient.mul_(factor)

    def _update(
        self, parameter: torch.Tensor, gradient: torch.Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> None:
        first, second = kept(state, "exp_avg", parameter), kept(state, "exp_avg_sq", parameter)
        first.mul_(group["b1"]).add_(gradient, alpha=1 - group["b1"])
        second.mul_(group["b2"]).addcmul_(gradient, gradient, value=1 - group["b2"])
        step = first / (second.sqrt() + group["e"])
        if group["weight_decay"] > 0.0:
            step = step + group["weight_decay"] * parameter
        rate = group["lr"]
        if group["t_total"] != -1:
            done = (state["step"] - 1) / group["t_total"]
            rate = rate * SCHEDULES[group["schedule"]](done, group["warmup"])
        parameter.sub_(rate * step)
