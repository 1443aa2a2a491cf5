"""What all fused optimizers share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def require(holds: bool, what: str, value: object) -> None:
    """Refuse a hyperparameter.

    Raises:
        ValueError: ``holds`` is false.
    """
    if not holds:
        raise ValueError(f"Invalid {what}: {value}")


class NpuFusedOptimizerBase(torch.optim.Optimizer):
    """An optimizer whose parameters are float32 or float16.

    The parameters that have a gradient at the first step, or at the first ``zero_grad`` or clipping after a backward,
    are those that are updated from then on; others are not, also when they get gradients later.
    """

    def __init__(self, params: Any, default: dict[str, Any]) -> None:
        super().__init__(params, default)
        self.is_fused_optimizer = True
        self._members: list[list[torch.Tensor]] | None = None

    def _collected(self) -> list[list[torch.Tensor]] | None:
        if self._members is None:
            found = [[p for p in group["params"] if p.grad is not None] for group in self.param_groups]
            for parameter in (parameter for members in found for parameter in members):
                if parameter.dtype not in (torch.float32, torch.float16):
                    raise TypeError(
                        "Fused optimizer's parameters must be either float32 or float16, "
                        f"but received {parameter.dtype}"
                    )
                if parameter.grad.is_sparse:
                    raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")
            if any(found):
                self._members = found
        return self._members

    def _with_gradients(self) -> Iterator[torch.Tensor]:
        for members in self._collected() or ():
            yield from (parameter for parameter in members if parameter.grad is not None)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters once.

        Args:
            closure: computes the loss again, with gradients, and returns it.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        members = self._collected() or [[] for _ in self.param_groups]
        self._before_step()
        for group, parameters in zip(self.param_groups, members, strict=False):
            self._before_group(group, parameters)
            for parameter in parameters:
                if parameter.grad is not None:
                    state = self.state[parameter]
                    state["step"] = state.get("step", 0) + 1
                    self._update(parameter, parameter.grad, state, group)
        return loss

    @torch.no_grad()
    def zero_grad(self, set_to_none: bool = False) -> None:
        """Fill all gradients with zeros; they share memory with what the optimizer keeps, so they cannot be let go.

        Raises:
            ValueError: ``set_to_none`` is asked for.
        """
        if set_to_none:
            raise ValueError("set_to_none is not supported in fused optimizers")
        if self._collected() is None:
            super().zero_grad(set_to_none=False)
            return
        for parameter in self._with_gradients():
            parameter.grad.zero_()

    @torch.no_grad()
    def clip_grad_norm_fused_(self, max_norm: float, norm_type: float = 2) -> torch.Tensor:
        """Scale all gradients down so that their common norm is at most ``max_norm``; the norm that they had."""
        gradients = [parameter.grad for parameter in self._with_gradients()]
        if not gradients:
            return torch.tensor(0.0)
        each = [gradient.float().abs() for gradient in gradients]
        if math.isinf(norm_type):
            total = torch.stack([one.max() for one in each]).max()
        else:
            total = torch.stack([one.pow(norm_type).sum() for one in each]).sum().pow(1 / norm_type)
        factor = max_norm / (total + 1e-6)
        if factor < 1:
            for gradient in gradients:
                gradient.mul_(factor)
        return total

    def _before_step(self) -> None:
        """What a kind of optimizer does before any group."""

    def _before_group(self, group: dict[str, Any], parameters: list[torch.Tensor]) -> None:
        """What a kind of optimizer does before a group's parameters."""

    def _update(
        self, parameter: torch.Tensor, gradient: torch.Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> None:
        raise NotImplementedError


def kept(state: dict[str, Any], name: str, like: torch.Tensor, value: float = 0.0) -> torch.Tensor:
    """A tensor of an optimizer's state; made, full of ``value``, where it is not there yet."""
    if name not in state:
        state[name] = torch.full_like(like, value, memory_format=torch.preserve_format)
    return state[name]
