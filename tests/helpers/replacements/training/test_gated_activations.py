"""Activations of language models against their formulas, number by number, with the rounding of the kernels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.replacements.common import close, module, numbers, torch

if TYPE_CHECKING:
    from collections.abc import Callable

GATES: dict[str, Callable[[float], float]] = {
    "silu_and_mul": lambda x: x / (1 + math.exp(-x)),
    "gelu_and_mul": lambda x: x * 0.5 * (1 + math.erf(x * math.sqrt(0.5))),
    "gelu_tanh_and_mul": lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
}


@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize("shape", [(3, 8), (2, 3, 10), (1, 2), (0, 6)])
def test_gated(name: str, shape: tuple[int, ...]) -> None:
    given = numbers(*shape, low=-6, high=6).float()
    half = shape[-1] // 2
    out = torch.full((*shape[:-1], half), 7.0)
    assert getattr(module("gated_activations"), name)(out, given) is None
    rows = [
        [GATES[name](row[at]) * row[half + at] for at in range(half)] for row in given.reshape(-1, shape[-1]).tolist()
    ]
    close(out, torch.tensor(rows).reshape(out.shape), 2e-6)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_what_is_rounded_before_the_product(kind: str) -> None:
    """The kernel gives the activation the type of the tensor, and multiplies then."""
    dtype = getattr(torch, kind)
    given = numbers(64, 16, low=-4, high=4).to(dtype)
    out = torch.empty(64, 8, dtype=dtype)
    module("gated_activations").silu_and_mul(out, given)
    wanted = [
        [
            float(torch.tensor(GATES["silu_and_mul"](float(x)), dtype=dtype) * y)
            for x, y in zip(row[:8], row[8:], strict=True)
        ]
        for row in given
    ]
    assert (out.double() == torch.tensor(wanted).double()).double().mean() > 0.98


@pytest.mark.parametrize("name", ["gelu_new", "gelu_fast"])
@pytest.mark.parametrize(("kind", "tolerance"), [("float32", 2e-6), ("float16", 4e-3), ("bfloat16", 3e-2)])
def test_short_forms(name: str, kind: str, tolerance: float) -> None:
    given = numbers(5, 40, low=-5, high=5).to(getattr(torch, kind))
    out = torch.empty_like(given)
    getattr(module("gated_activations"), name)(out, given)
    wanted = [[GATES["gelu_tanh_and_mul"](x) for x in row] for row in given.tolist()]
    close(out, torch.tensor(wanted), tolerance)


def test_a_view_is_written_in_place() -> None:
    whole: Any = torch.zeros(4, 6)
    module("gated_activations").silu_and_mul(whole[:, :3], torch.ones(4, 6))
    assert bool((whole[:, :3] > 0.7).all())
    assert bool((whole[:, 3:] == 0).all())
