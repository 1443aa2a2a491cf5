"""What takes the place of bitsandbytes' optimizers, against the steps of its own reference, written out."""

from __future__ import annotations

from typing import Any

import pytest

from npuify.helpers.packages import bitsandbytes as bnb
from tests.helpers.replacements.common import close, numbers, torch


def _steps(name: str, p: Any, grads: list[Any], lr: float, decay: float) -> Any:
    """The formulas of bitsandbytes' 32-bit update, step by step."""
    one, two = torch.zeros_like(p), torch.zeros_like(p)
    for step, grad in enumerate(grads, 1):
        if name in ("Adam", "AdamW"):
            one, two = 0.9 * one + 0.1 * grad, 0.99 * two + 0.01 * grad * grad
            first, second = 1 - 0.9**step, (1 - 0.99**step) ** 0.5
            p = p * (1 - lr * decay) - lr * second / first * one / (two.sqrt() + 1e-6 * second)
        elif name == "Lion":
            p = p * (1 - lr * decay) - lr * torch.sign(0.9 * one + 0.1 * grad)
            one = 0.99 * one + 0.01 * grad
        else:
            grad = grad + decay * p
            if name == "SGD":
                one = grad if step == 1 else 0.9 * one + grad
                p = p - lr * one
            else:
                one = one + grad * grad if name == "Adagrad" else 0.9 * one + 0.1 * grad * grad
                p = p - lr * grad / (one.sqrt() + 1e-6)
    return p


OPTIONS: dict[str, dict[str, Any]] = {
    "Adam": {"betas": (0.9, 0.99), "eps": 1e-6, "is_paged": True},
    "AdamW": {"betas": (0.9, 0.99), "eps": 1e-6, "min_8bit_size": 16},
    "Lion": {"betas": (0.9, 0.99)},
    "SGD": {"momentum": 0.9},
    "RMSprop": {"alpha": 0.9, "eps": 1e-6},
    "Adagrad": {"eps": 1e-6, "optim_bits": 8},
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_steps(name: str, decay: float) -> None:
    start, grads = numbers(4, 3), [numbers(4, 3, seed=seed) for seed in range(1, 6)]
    param = torch.nn.Parameter(start.clone())
    made = getattr(bnb.optim, f"{name}8bit")([param], lr=0.01, weight_decay=decay, **OPTIONS[name])
    for grad in grads:
        param.grad = grad.clone()
        made.step()
    close(param.detach(), _steps(name, start, grads, 0.01, decay), 1e-6 if name == "Adam" else 1e-7)


def test_defaults() -> None:
    params = [torch.nn.Parameter(torch.zeros(2))]
    assert bnb.AdamW8bit(params).param_groups[0]["weight_decay"] == 1e-2
    assert bnb.PagedAdam8bit(params).param_groups[0]["weight_decay"] == 0
    assert bnb.Lion(params).step(lambda: 7) == 7
    with pytest.raises(NotImplementedError, match="momentum"):
        bnb.SGD8bit(params, 0.1)


def test_bits_of_some_parameters() -> None:
    manager = bnb.GlobalOptimManager.get_instance()
    assert manager is bnb.optim.GlobalOptimManager.get_instance()
    manager.register_module_override(torch.nn.Linear(2, 2), "weight", {"optim_bits": 32})
    manager.override_config([], "optim_bits", 32)
    with pytest.raises(NotImplementedError):
        manager.override_config([], "lr", 0.1)
