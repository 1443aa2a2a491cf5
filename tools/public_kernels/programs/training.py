"""Norms, losses and steps of optimizers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from tools.public_kernels.beside import DEVICE, beside, far, given, module

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def _steps(
    make: Callable[[list[Any]], Any], reference: Callable[[list[Any]], Any], count: int = 4, *, holes: bool = False
) -> float:
    """The parameters after some steps of two optimizers with the same gradients."""
    shapes = (7, 5), (11,), (3, 2, 4)
    start = [given(*shape) for shape in shapes]
    ours = [one.to(DEVICE).requires_grad_() for one in start]
    theirs = [one.double().requires_grad_() for one in start]
    sides = ((make(ours), ours), (reference(theirs), theirs))
    for _ in range(count):
        grads = [given(*shape) for shape in shapes]
        if holes:
            grads = [one * (torch.rand_like(one) < 0.7) for one in grads]
        for optimizer, parameters in sides:
            for one, grad in zip(parameters, grads, strict=True):
                one.grad = grad.to(one)
            optimizer.step()
    return max(far(a, b) for a, b in zip(ours, theirs, strict=True))


def apex(root: Path) -> float:
    norms = module(root, "apex.normalization.fused_layer_norm")
    losses = module(root, "apex.contrib.xentropy.softmax_xentropy", "apex.contrib", "apex.contrib.xentropy")
    fused = module(root, "apex.optimizers")
    worst = beside(
        lambda x, w, b: norms.fused_layer_norm_affine(x, w, b, (16,), 1e-5),
        lambda x, w, b: functional.layer_norm(x, (16,), w, b, 1e-5),
        *(given(9, 16), given(16), given(16)),
    )
    rms = lambda x, w: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * w  # noqa: E731
    ours = lambda x, w: norms.fused_rms_norm_affine(x, w, (16,), 1e-5)  # noqa: E731
    worst = max(worst, beside(ours, rms, given(9, 16), given(16)))
    labels = torch.randint(1, 40, (9,))
    smooth = lambda x: losses.SoftmaxCrossEntropyLoss.apply(x, labels.to(DEVICE), 0.1, 0, False)  # noqa: E731
    plain = lambda x: functional.cross_entropy(x, labels, reduction="none", label_smoothing=0.1)  # noqa: E731
    worst = max(worst, beside(smooth, plain, given(9, 40, low=-4, high=4)))
    pairs = (
        (
            lambda p: fused.FusedAdam(p, lr=0.01, weight_decay=0.1),
            lambda p: torch.optim.AdamW(p, 0.01, weight_decay=0.1),
        ),
        (
            lambda p: fused.FusedSGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
            lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01),
        ),
        (lambda p: fused.FusedAdagrad(p, lr=0.1, eps=1e-8), lambda p: torch.optim.Adagrad(p, 0.1, eps=1e-8)),
        (lambda p: fused.FusedLAMB(p, lr=0.01, weight_decay=0.1), lambda p: _Lamb(p, 0.01, 0.1)),
    )
    return max(worst, *(_steps(make, reference) for make, reference in pairs))


class _Lamb(torch.optim.Optimizer):
    """LAMB as its paper has it, with apex's defaults: gradients of a norm above 1 are shortened to it."""

    def __init__(self, parameters: list[Any], rate: float, decay: float) -> None:
        super().__init__(parameters, {"lr": rate})
        self._decay, self._count = decay, 0

    def step(self) -> None:  # type: ignore[override]
        """One step of all parameters."""
        self._count += 1
        parameters = self.param_groups[0]["params"]
        norm = torch.cat([one.grad.flatten() for one in parameters]).norm()
        for one in parameters:
            grad, state = one.grad / max(norm.item(), 1.0), self.state[one]
            state["m"] = 0.9 * state.get("m", 0) + 0.1 * grad
            state["v"] = 0.999 * state.get("v", 0) + 0.001 * grad * grad
            m, v = state["m"] / (1 - 0.9**self._count), state["v"] / (1 - 0.999**self._count)
            update = m / (v.sqrt() + 1e-6) + self._decay * one.data
            one.data -= self.param_groups[0]["lr"] * one.data.norm() / update.norm() * update


def direct_voxgo(root: Path) -> float:
    adam = module(root, "lib.masked_adam", "lib")

    class Plain(torch.optim.Optimizer):
        """Adam that leaves what has no gradient, with its sums, as it is."""

        def __init__(self, parameters: list[Any], *, skips: bool) -> None:
            super().__init__(parameters, {})
            self._skips, self._count = skips, 0

        def step(self) -> None:  # type: ignore[override]
            self._count += 1
            rate = 0.01 * (1 - 0.99**self._count) ** 0.5 / (1 - 0.9**self._count)
            for one in self.param_groups[0]["params"]:
                state, taken = self.state[one], (one.grad != 0) | (not self._skips)
                zeros = torch.zeros_like(one.data)
                m, v = state.get("m", zeros), state.get("v", zeros)
                state["m"] = torch.where(taken, 0.9 * m + 0.1 * one.grad, m)
                state["v"] = torch.where(taken, 0.99 * v + 0.01 * one.grad**2, v)
                one.data -= torch.where(taken, rate * state["m"] / (state["v"].sqrt() + 1e-8), zeros)

    worst = 0.0
    for skips in (False, True):

        def make(parameters: list[Any], skips: bool = skips) -> Any:
            return adam.MaskedAdam([{"params": parameters, "lr": 0.01, "skip_zero_grad": skips}])

        worst = max(worst, _steps(make, lambda p, skips=skips: Plain(p, skips=skips), holes=True))
    return worst


PROGRAMS = {"NVIDIA/apex": apex, "sunset1995/DirectVoxGO": direct_voxgo}
