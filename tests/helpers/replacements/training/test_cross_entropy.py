"""The cross entropy of softmax against its sum written out, in double precision, and finite differences."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.replacements.common import close, differences, module, numbers, torch


def _losses(logits: Any, labels: Any, smoothing: float) -> Any:
    classes = logits.shape[1]
    wanted = torch.full_like(logits, smoothing / classes)
    for row, label in enumerate(labels.tolist()):
        wanted[row, label] += 1 - smoothing
    total = torch.exp(logits).sum(1, keepdim=True).log()
    return (wanted * (total - logits)).sum(1)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy(smoothing: float) -> None:
    entropy, logits, labels = module("cross_entropy"), numbers(5, 7, low=-3, high=3), torch.tensor([0, 6, 3, 3, 1])
    given = (smoothing,) if smoothing else ()
    forward = entropy.forward_smoothed if smoothing else entropy.forward
    backward = entropy.backward_smoothed if smoothing else entropy.backward
    losses, normalizer = forward(logits, labels, *given, False)
    close(losses, _losses(logits, labels, smoothing))
    close(normalizer, torch.exp(logits).sum(1).log())
    grad = numbers(5, seed=1)
    made = backward(grad, logits, normalizer, labels, *given)
    close(made, differences(lambda one: _losses(one, labels, smoothing), [logits], 0, grad), 1e-6)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("to_float", [False, True])
def test_half_precision(kind: str, to_float: bool) -> None:
    entropy, labels = module("cross_entropy"), torch.tensor([0, 6, 3])
    logits = numbers(3, 7, low=-3, high=3).to(getattr(torch, kind))
    losses, normalizer = entropy.forward_smoothed(logits, labels, 0.1, to_float)
    assert losses.dtype == torch.float32
    assert normalizer.dtype == (torch.float32 if to_float else logits.dtype)
    close(losses, _losses(logits.double(), labels, 0.1), 1e-5)
    grad = torch.ones(3, dtype=normalizer.dtype)
    made = entropy.backward_smoothed(grad, logits, normalizer, labels, 0.1)
    assert made.dtype == logits.dtype
    wanted = differences(lambda one: _losses(one, labels, 0.1), [logits.double()], 0, torch.ones(3).double())
    close(made, wanted, 2e-2)


def test_large_logits() -> None:
    losses, _ = module("cross_entropy").forward(torch.tensor([[900.0, -900.0]]), torch.tensor([1]), False)
    assert losses.tolist() == [1800.0]
