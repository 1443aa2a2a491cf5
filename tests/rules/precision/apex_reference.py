"""Plain definitions of what apex computes, written from its kernels' formulas and its documentation of opt levels.

They run on the CPU in any precision. The optimizers go element by element as multi_tensor_adam, multi_tensor_sgd and
multi_tensor_adagrad do; ``Amp`` is O0 and O1: lists of functions that compute in half or in single precision, and a loss
scale that begins at 65536, is halved by an overflow, whose step is skipped, and doubles after 2000 good steps.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F  # noqa: N812

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class _Optimizer(torch.optim.Optimizer):
    """Keeps the state of each parameter, and steps by ``_update``."""

    def __init__(self, params: Iterable[Any], **settings: Any) -> None:
        super().__init__(params, settings)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        assert closure is None
        for group in self.param_groups:
            group["step"] = group.get("step", 0) + 1
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, parameter.grad.clone(), self.state[parameter], group)

    def _update(self, p: torch.Tensor, g: torch.Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        raise NotImplementedError


class FusedAdam(_Optimizer):
    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        bias_correction: bool = True,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        adam_w_mode: bool = True,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        set_grad_none: bool = True,
        capturable: bool = False,
        master_weights: bool = False,
    ) -> None:
        assert bias_correction
        assert not (amsgrad or capturable or master_weights)
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, decoupled=adam_w_mode)

    def _update(self, p: torch.Tensor, g: torch.Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        (first, second), decay, step = group["betas"], group["weight_decay"], group["step"]
        m, v = state.get("m", torch.zeros_like(p)), state.get("v", torch.zeros_like(p))
        if not group["decoupled"]:
            g = g + decay * p
        m = first * m + (1 - first) * g
        v = second * v + (1 - second) * g * g
        state["m"], state["v"] = m, v
        update = (m / (1 - first**step)) / ((v / (1 - second**step)).sqrt() + group["eps"])
        if group["decoupled"]:
            update = update + decay * p
        p.sub_(group["lr"] * update)


class FusedSGD(_Optimizer):
    def __init__(
        self,
        params: Iterable[Any],
        lr: float,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        wd_after_momentum: bool = False,
        materialize_master_grads: bool = True,
        set_grad_none: bool = False,
    ) -> None:
        assert not wd_after_momentum
        super().__init__(
            params, lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov
        )

    def _update(self, p: torch.Tensor, g: torch.Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        momentum = group["momentum"]
        g = g + group["weight_decay"] * p
        if momentum:
            moved = momentum * state["m"] + (1 - group["dampening"]) * g if "m" in state else g
            state["m"] = moved
            g = g + momentum * moved if group["nesterov"] else moved
        p.sub_(group["lr"] * g)


class FusedAdagrad(_Optimizer):
    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        eps: float = 1e-10,
        weight_decay: float = 0.0,
        set_grad_none: bool = True,
        adagrad_w_mode: bool = False,
    ) -> None:
        assert not adagrad_w_mode
        super().__init__(params, lr=lr, eps=eps, weight_decay=weight_decay)

    def _update(self, p: torch.Tensor, g: torch.Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        g = g + group["weight_decay"] * p
        state["h"] = state.get("h", torch.zeros_like(p)) + g * g
        p.sub_(group["lr"] * (g / (state["h"].sqrt() + group["eps"])))


class FusedLayerNorm(torch.nn.Module):
    def __init__(self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True) -> None:
        super().__init__()
        self.shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.weight = torch.nn.Parameter(torch.ones(self.shape)) if elementwise_affine else None
        self.bias = torch.nn.Parameter(torch.zeros(self.shape)) if elementwise_affine else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        axes = tuple(range(-len(self.shape), 0))
        mean = x.mean(axes, keepdim=True)
        out = (x - mean) / (((x - mean) ** 2).mean(axes, keepdim=True) + self.eps).sqrt()
        return out if self.weight is None or self.bias is None else out * self.weight + self.bias


class FusedRMSNorm(torch.nn.Module):
    def __init__(self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True) -> None:
        super().__init__()
        self.shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.weight = torch.nn.Parameter(torch.ones(self.shape)) if elementwise_affine else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = x / ((x**2).mean(tuple(range(-len(self.shape), 0)), keepdim=True) + self.eps).sqrt()
        return out if self.weight is None else out * self.weight


class Amp:
    """``apex.amp`` for one model and one optimizer."""

    def __init__(self) -> None:
        self.level = ""
        self.scale = 65536.0
        self.good_steps = 0
        self.skip = False
        self.patched: list[tuple[str, Any]] = []

    def initialize(self, model: Any, optimizer: Any, opt_level: str = "O1", verbosity: int = 1) -> tuple[Any, Any]:
        self.level = opt_level
        if opt_level == "O1":
            for name, kind in (("linear", torch.float16), ("conv2d", torch.float16), ("mse_loss", torch.float32)):
                self._patch(name, kind)
            step = optimizer.step

            def guarded() -> None:
                if self.skip:
                    self.skip = False
                else:
                    step()

            optimizer.step = guarded
        return model, optimizer

    def _patch(self, name: str, kind: torch.dtype) -> None:
        original = getattr(F, name)

        def cast(*args: Any, **more: Any) -> Any:
            return original(
                *(one.to(kind) if isinstance(one, torch.Tensor) and one.is_floating_point() else one for one in args),
                **more,
            )

        self.patched.append((name, original))
        setattr(F, name, cast)

    def restore(self) -> None:
        for name, original in self.patched:
            setattr(F, name, original)

    @contextlib.contextmanager
    def scale_loss(self, loss: torch.Tensor, optimizer: Any) -> Iterator[torch.Tensor]:
        if self.level == "O0":
            yield loss
            return
        yield loss.float() * self.scale
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        self.skip = any(not bool(torch.isfinite(gradient).all()) for gradient in gradients)
        for gradient in gradients:
            gradient.div_(self.scale)
        self.good_steps = 0 if self.skip else self.good_steps + 1
        if self.skip:
            self.scale /= 2
        elif self.good_steps == 2000:
            self.scale, self.good_steps = self.scale * 2, 0

    def master_params(self, optimizer: Any) -> Iterator[torch.Tensor]:
        for group in optimizer.param_groups:
            yield from group["params"]
