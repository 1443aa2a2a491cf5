"""What the tests of replacements share: the modules as a project imports them, and gradients by finite differences."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest

from npuify.helpers import kernel_module

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

torch: Any = pytest.importorskip("torch", reason="needs torch, to compute with")
if not hasattr(torch, "softmax"):
    pytest.skip("needs a real torch, to compute with", allow_module_level=True)


def module(family: str) -> Any:
    """A module of ``helpers/replacements``."""
    return importlib.import_module(f"npuify.helpers.{kernel_module(family)}")


def numbers(*shape: int, seed: int = 0, low: float = -1.0, high: float = 1.0) -> Any:
    """Numbers in double precision, the same on every run."""
    made = torch.rand(*shape, generator=torch.Generator().manual_seed(seed + 17 * len(shape)), dtype=torch.float64)
    return made * (high - low) + low


def differences(
    function: Callable[..., Any], inputs: Sequence[Any], which: int, weight: Any, step: float = 1e-5
) -> Any:
    """The gradient of ``(function(*inputs) * weight).sum()`` for one of the inputs, by central differences."""
    at = inputs[which]
    found = torch.zeros_like(at)
    for index in range(at.numel()):
        ends = []
        for sign in (1, -1):
            moved = at.clone()
            moved.reshape(-1)[index] += sign * step
            given = [*inputs[:which], moved, *inputs[which + 1 :]]
            ends.append((function(*given) * weight).sum().item())
        found.reshape(-1)[index] = (ends[0] - ends[1]) / (2 * step)
    return found


def close(a: Any, b: Any, tolerance: float = 1e-9) -> None:
    """Two tensors hold the same numbers."""
    assert a.shape == b.shape, (a.shape, b.shape)
    assert torch.allclose(a.double(), b.double(), rtol=tolerance, atol=tolerance, equal_nan=True), (a - b).abs().max()


def along(
    function: Callable[..., Any], inputs: Sequence[Any], which: int, weight: Any, made: Any, tolerance: float = 1e-5
) -> None:
    """``made`` is the gradient of ``(function(*inputs) * weight).sum()``: seen along some directions, by differences.

    Where a loop is too slow to move each number of an input by itself.
    """
    for seed in range(3):
        way, step = numbers(*inputs[which].shape, seed=90 + seed), 1e-5
        ends = []
        for sign in (1, -1):
            given = [*inputs[:which], inputs[which] + sign * step * way, *inputs[which + 1 :]]
            ends.append((function(*given) * weight).sum().item())
        assert (made * way).sum().item() == pytest.approx(
            (ends[0] - ends[1]) / (2 * step), rel=tolerance, abs=tolerance
        )
