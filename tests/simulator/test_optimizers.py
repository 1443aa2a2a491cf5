"""The fused optimizers against PyTorch's own, and against their published steps written apart."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from npuify.simulator import optimizers  # noqa: E402

SHAPES = [(4, 3), (5,), (2, 2, 3)]


def parameters(dtype: Any = torch.float32) -> list[torch.nn.Parameter]:
    generator = torch.Generator().manual_seed(2)
    return [torch.nn.Parameter(torch.randn(shape, generator=generator).to(dtype)) for shape in SHAPES]


def give_gradients(many: list[torch.nn.Parameter], step: int) -> None:
    generator = torch.Generator().manual_seed(100 + step)
    for parameter in many:
        gradient = torch.randn(parameter.shape, generator=generator).to(parameter.dtype)
        if parameter.grad is None:
            parameter.grad = gradient
        else:
            parameter.grad.copy_(gradient)


SAME = [
    ("NpuFusedSGD", "SGD", {"lr": 0.1}),
    ("NpuFusedSGD", "SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    ("NpuFusedSGD", "SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("NpuFusedAdam", "Adam", {"lr": 0.01, "weight_decay": 0.1}),
    ("NpuFusedAdam", "Adam", {"lr": 0.01, "amsgrad": True, "betas": (0.5, 0.6)}),
    ("NpuFusedAdamW", "AdamW", {"lr": 0.01}),
    ("NpuFusedAdamW", "AdamW", {"lr": 0.01, "weight_decay": 0.3, "amsgrad": True}),
    ("NpuFusedAdadelta", "Adadelta", {"lr": 0.5, "weight_decay": 0.1}),
    ("NpuFusedRMSprop", "RMSprop", {"lr": 0.01, "weight_decay": 0.1}),
    ("NpuFusedRMSprop", "RMSprop", {"lr": 0.01, "momentum": 0.9, "centered": True}),
]


@pytest.mark.parametrize(("ours", "theirs", "settings"), SAME, ids=str)
def test_steps_are_torchs(ours: str, theirs: str, settings: dict[str, Any]) -> None:
    one, other = parameters(), parameters()
    mine = getattr(optimizers, ours)(one, **settings)
    torchs = getattr(torch.optim, theirs)(other, **settings, foreach=False)
    for step in range(5):
        give_gradients(one, step)
        give_gradients(other, step)
        mine.step()
        torchs.step()
        for a, b in zip(one, other, strict=True):
            torch.testing.assert_close(a, b)


@pytest.mark.parametrize("name", optimizers.__all__)
def test_defaults_are_those_of_the_release(name: str) -> None:
    from npuify.knowledge import load

    signature = load("2.13.0").signature(f"torch_npu.optim.{name}")
    assert signature is not None and signature.parameters is not None
    import inspect

    own = list(inspect.signature(getattr(optimizers, name).__init__).parameters.values())[1:]
    assert [p.name for p in own] == [p.name for p in signature.parameters if p.name != "self"]


def test_every_optimizer_of_the_release_is_here() -> None:
    from npuify.knowledge import load

    for name in optimizers.__all__:
        assert load("2.13.0").has(f"torch_npu.optim.{name}")


@pytest.mark.parametrize(
    "settings", [{}, {"momentum": 0.9}, {"momentum": 0.9, "lr_in_momentum": False}, {"centered": True}]
)
def test_rmsprop_as_tensorflow_has_it(settings: dict[str, Any]) -> None:
    many = parameters()
    start = many[1].detach().double().clone()
    optimizer = optimizers.NpuFusedRMSpropTF(many, lr=0.05, alpha=0.8, eps=1e-3, **settings)
    square, mean, buffer = torch.ones(5).double(), torch.zeros(5).double(), torch.zeros(5).double()
    value = start
    for step in range(4):
        give_gradients(many, step)
        gradient = many[1].grad.double().clone()
        optimizer.step()
        square = 0.8 * square + 0.2 * gradient**2
        mean = 0.8 * mean + 0.2 * gradient
        root = (square - (mean**2 if settings.get("centered") else 0) + 1e-3).sqrt()
        if not settings.get("momentum"):
            value = value - 0.05 * gradient / root
        elif settings.get("lr_in_momentum", True):
            buffer = 0.9 * buffer + 0.05 * gradient / root
            value = value - buffer
        else:
            buffer = 0.9 * buffer + gradient / root
            value = value - 0.05 * buffer
        torch.testing.assert_close(many[1].detach().double(), value, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("as_adam", [False, True])
def test_lamb_scales_each_parameter_by_itself(as_adam: bool) -> None:
    many = parameters()
    values = [p.detach().double().clone() for p in many]
    optimizer = optimizers.NpuFusedLamb(many, lr=0.1, weight_decay=0.05, adam=as_adam, use_global_grad_norm=True)
    first = [torch.zeros_like(v) for v in values]
    second = [torch.zeros_like(v) for v in values]
    for step in range(3):
        give_gradients(many, step)
        gradients = [p.grad.double().clone() for p in many]
        total = math.sqrt(sum(float((g**2).sum()) for g in gradients))
        optimizer.step()
        for index, gradient in enumerate(gradients):
            scaled = gradient / total if total > 1 else gradient
            first[index] = 0.9 * first[index] + 0.1 * scaled
            second[index] = 0.999 * second[index] + 0.001 * scaled**2
            update = first[index] / (second[index].sqrt() + 1e-6) + 0.05 * values[index]
            trust = 1.0 if as_adam else min(float(values[index].norm()), 10.0) / float(update.norm())
            values[index] = values[index] - 0.1 * trust * update
            torch.testing.assert_close(many[index].detach().double(), values[index], rtol=1e-4, atol=1e-5)


def test_bert_adam_clips_decays_and_warms_up() -> None:
    many = parameters()
    values = [p.detach().double().clone() for p in many]
    optimizer = optimizers.NpuFusedBertAdam(many, lr=0.1, warmup=0.5, t_total=4, max_grad_norm=0.7)
    first = [torch.zeros_like(v) for v in values]
    second = [torch.zeros_like(v) for v in values]
    rates = [0.0, 0.05, 0.1, 0.05]
    for step in range(4):
        give_gradients(many, step)
        gradients = [p.grad.double().clone() for p in many]
        total = math.sqrt(sum(float((g**2).sum()) for g in gradients))
        optimizer.step()
        for index, gradient in enumerate(gradients):
            clipped = gradient * min(1.0, 0.7 / (total + 1e-6))
            first[index] = 0.9 * first[index] + 0.1 * clipped
            second[index] = 0.999 * second[index] + 0.001 * clipped**2
            update = first[index] / (second[index].sqrt() + 1e-6) + 0.01 * values[index]
            values[index] = values[index] - rates[step] * update
            torch.testing.assert_close(many[index].detach().double(), values[index], rtol=1e-4, atol=1e-5)


def test_adamp_takes_out_the_radial_part_only_where_gradients_are_orthogonal() -> None:
    weights = torch.nn.Parameter(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    orthogonal = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    optimizer = optimizers.NpuFusedAdamP([weights], lr=0.1, weight_decay=0.5)
    weights.grad = orthogonal.clone()
    optimizer.step()
    # Adam's first step is the sign of the gradient; it has no part along the weights, whose decay is a tenth.
    torch.testing.assert_close(
        weights.detach(), torch.eye(2) * (1 - 0.1 * 0.5 * 0.1) - 0.1 * orthogonal, rtol=1e-4, atol=1e-5
    )
    along = torch.nn.Parameter(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    optimizer = optimizers.NpuFusedAdamP([along], lr=0.1)
    along.grad = torch.eye(2)
    optimizer.step()
    torch.testing.assert_close(along.detach(), torch.eye(2) * 0.9, rtol=1e-4, atol=1e-5)
    # The momentum still points along the weights; a gradient across them lets only what is across through.
    along.grad = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    before = along.detach().clone()
    optimizer.step()
    moved = along.detach() - before
    torch.testing.assert_close((moved * before).sum(1), torch.zeros(2), rtol=0, atol=1e-6)
    assert moved.abs().max() > 0.01


def test_gradients_are_zeroed_and_cannot_be_let_go() -> None:
    many = parameters()
    optimizer = optimizers.NpuFusedAdam(many)
    optimizer.zero_grad()
    give_gradients(many, 0)
    kept = many[0].grad
    optimizer.zero_grad()
    assert many[0].grad is kept and not kept.any()
    with pytest.raises(ValueError, match="set_to_none is not supported"):
        optimizer.zero_grad(set_to_none=True)


def test_parameters_without_a_gradient_at_first_are_never_updated() -> None:
    many = parameters()
    optimizer = optimizers.NpuFusedSGD(many, lr=1.0)
    many[0].grad = torch.ones_like(many[0])
    optimizer.step()
    give_gradients(many, 0)
    before = [p.detach().clone() for p in many]
    optimizer.step()
    assert not torch.equal(many[0], before[0])
    assert torch.equal(many[1], before[1])


@pytest.mark.parametrize("norm", [2, 1, float("inf")])
def test_clipping_is_torchs(norm: float) -> None:
    one, other = parameters(), parameters()
    give_gradients(one, 0)
    give_gradients(other, 0)
    found = optimizers.NpuFusedAdam(one).clip_grad_norm_fused_(0.5, norm)
    torch.testing.assert_close(found, torch.nn.utils.clip_grad_norm_(other, 0.5, norm))
    for a, b in zip(one, other, strict=True):
        torch.testing.assert_close(a.grad, b.grad)


def test_other_types_and_wrong_hyperparameters_are_refused() -> None:
    wrong = parameters(torch.bfloat16)
    give_gradients(wrong, 0)
    with pytest.raises(TypeError, match="either float32 or float16"):
        optimizers.NpuFusedAdam(wrong).step()
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        optimizers.NpuFusedAdamW(parameters(), lr=-1)
    with pytest.raises(ValueError, match="beta parameter at index 1"):
        optimizers.NpuFusedLamb(parameters(), betas=(0.9, 1.0))
    with pytest.raises(ValueError, match="Nesterov"):
        optimizers.NpuFusedSGD(parameters(), lr=0.1, nesterov=True)
    with pytest.raises(ValueError, match="required"):
        optimizers.NpuFusedBertAdam(parameters())


def test_state_goes_to_another_optimizer() -> None:
    one, other = parameters(), parameters()
    first = optimizers.NpuFusedAdamW(one, lr=0.1)
    for step in range(2):
        give_gradients(one, step)
        first.step()
    with torch.no_grad():
        for a, b in zip(one, other, strict=True):
            b.copy_(a)
    second = optimizers.NpuFusedAdamW(other, lr=0.1)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    for many, optimizer in ((one, first), (other, second)):
        give_gradients(many, 7)
        optimizer.step()
    for a, b in zip(one, other, strict=True):
        torch.testing.assert_close(a, b)
