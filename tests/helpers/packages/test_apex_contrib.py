"""What takes the place of apex's parts, against torch and finite differences."""

from __future__ import annotations

from typing import Any

import pytest

from npuify.helpers.packages import apex_contrib
from tests.helpers.replacements.common import close, differences, numbers, torch


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_loss(smoothing: float) -> None:
    logits, labels = numbers(5, 7, low=-3, high=3), torch.tensor([0, 6, 3, 3, 1])

    def losses(logits: Any) -> Any:
        made = torch.nn.functional.cross_entropy(logits, labels, reduction="none", label_smoothing=smoothing)
        return made * (labels != 3)

    given, grad = logits.clone().requires_grad_(), numbers(5, seed=1)
    out = apex_contrib.SoftmaxCrossEntropyLoss.apply(given, labels, smoothing, 3)
    close(out, losses(logits))
    out.backward(grad)
    close(given.grad, differences(losses, [logits], 0, grad), 1e-6)
    half = logits.bfloat16().requires_grad_()
    made = apex_contrib.SoftmaxCrossEntropyLoss.apply(half, labels, smoothing, 3, True)
    assert made.dtype == torch.float32
    made.sum().backward()
    assert half.grad.dtype == torch.bfloat16


def test_clipping_and_norm() -> None:
    given = [torch.nn.Parameter(numbers(3, 2)), torch.nn.Parameter(numbers(4, seed=1))]
    for one in given:
        one.grad = one.detach() * 3
    wanted = torch.cat([one.grad.flatten() for one in given]).norm()
    close(apex_contrib.clip_grad_norm_(given, 0.5), wanted)
    close(torch.cat([one.grad.flatten() for one in given]).norm(), torch.tensor(0.5), 1e-4)
    norm, plain = apex_contrib.FastLayerNorm(6, eps=1e-3, memory_efficient=True), torch.nn.LayerNorm(6, eps=1e-3)
    plain.load_state_dict(norm.state_dict())
    x = numbers(4, 6).float()
    close(norm(x), plain(x))
    assert norm.epsilon == 1e-3
