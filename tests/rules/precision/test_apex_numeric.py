"""Each rewrite of apex trains to the same weights as apex's definition does.

The original text runs with plain definitions of apex (``apex_reference``), the migrated text with torch itself, its
autocast and GradScaler on the CPU standing where the NPU's are named.
"""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from npuify.model import Safety

from ...harness import findings, output

if TYPE_CHECKING:
    from collections.abc import Iterator

torch = pytest.importorskip("torch", reason="needs torch, to compute with")
if not hasattr(torch, "softmax"):
    pytest.skip("needs a real torch, to compute with", allow_module_level=True)

from . import apex_reference as reference  # noqa: E402


@pytest.fixture(autouse=True)
def amp(monkeypatch: pytest.MonkeyPatch) -> Iterator[reference.Amp]:
    """apex by its definitions, and torch_npu by torch's own parts on the CPU."""
    made = reference.Amp()
    apex, optimizers, normalization = (ModuleType(n) for n in ("apex", "apex.optimizers", "apex.normalization"))
    for name in ("FusedAdam", "FusedSGD", "FusedAdagrad"):
        setattr(optimizers, name, getattr(reference, name))
    for name in ("FusedLayerNorm", "FusedRMSNorm"):
        setattr(normalization, name, getattr(reference, name))
    apex.amp, apex.optimizers, apex.normalization = made, optimizers, normalization  # type: ignore[attr-defined]
    for module in (apex, optimizers, normalization, ModuleType("torch_npu")):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    precision = SimpleNamespace(
        autocast=lambda: torch.autocast("cpu", dtype=torch.float16),
        GradScaler=lambda: torch.amp.GradScaler("cpu"),
    )
    monkeypatch.setattr(torch, "npu", SimpleNamespace(amp=precision), raising=False)
    yield made
    made.restore()


def space_of(text: str) -> dict[str, Any]:
    space: dict[str, Any] = {}
    exec(compile(text, "<program>", "exec"), space)
    return space


def migrated(text: str, code: str) -> str:
    found = [item for item in findings(text) if item.code == code and item.edits]
    assert found
    exact = "FusedLayerNorm" in text
    assert all(item.safety is (Safety.SAFE if exact else Safety.REVIEW) for item in found)
    after = output(text, unsafe=True)
    assert "apex" not in after
    assert output(after, unsafe=True) == after
    return after


OPTIMIZERS = [
    "FusedAdam(params)",
    "FusedAdam(params, lr=0.02, weight_decay=0.1)",
    "FusedAdam(params, 0.02, True, (0.8, 0.95), 1e-6, True, 0.05)",
    "FusedAdam(params, lr=0.02, adam_w_mode=False, weight_decay=0.1)",
    "FusedAdam(params, adam_w_mode=False)",
    "FusedSGD(params, lr=0.05)",
    "FusedSGD(params, 0.05, momentum=0.9, weight_decay=0.01)",
    "FusedSGD(params, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01)",
    "FusedSGD(params, lr=0.05, momentum=0.8, dampening=0.3)",
    "FusedAdagrad(params)",
    "FusedAdagrad(params, lr=0.1, eps=1e-6, weight_decay=0.02)",
]


def stepped(text: str) -> list[Any]:
    """The parameters after ten steps down a slope that differs from step to step."""
    generator = torch.Generator().manual_seed(1)
    parameters = [torch.nn.Parameter(torch.randn(3, 4, generator=generator, dtype=torch.float64)) for _ in range(2)]
    optimizer = space_of(text)["make"](parameters)
    for _ in range(10):
        aims = [torch.randn(3, 4, generator=generator, dtype=torch.float64) for _ in parameters]
        optimizer.zero_grad()
        sum(((p - aim) ** 2).sum() for p, aim in zip(parameters, aims, strict=True)).backward()
        optimizer.step()
    return [parameter.detach() for parameter in parameters]


@pytest.mark.parametrize("call", OPTIMIZERS)
def test_optimizers(call: str) -> None:
    name = call.partition("(")[0]
    text = f"import torch\nfrom apex.optimizers import {name}\n\n\ndef make(params):\n    return {call}\n"
    torch.testing.assert_close(stepped(migrated(text, "NPU212")), stepped(text), rtol=1e-9, atol=1e-12)


def test_a_wrong_form_of_an_optimizer_is_noticed() -> None:
    text = (
        "import torch\nfrom apex.optimizers import FusedAdam\n\n\ndef make(params):\n"
        "    return FusedAdam(params, lr=0.02)\n"
    )
    after = migrated(text, "NPU212")
    assert "weight_decay=0.0" in after
    with pytest.raises(AssertionError):
        torch.testing.assert_close(stepped(after.replace(", weight_decay=0.0", "")), stepped(text))


@pytest.mark.parametrize(
    "call",
    [
        "FusedLayerNorm(6)",
        "FusedLayerNorm(6, eps=1e-2)",
        "FusedLayerNorm((5, 6), 1e-3)",
        "FusedLayerNorm(6, elementwise_affine=False)",
        "FusedRMSNorm(6)",
        "FusedRMSNorm(6, 1e-2)",
        "FusedRMSNorm((5, 6), elementwise_affine=False)",
    ],
)
def test_normalization(call: str) -> None:
    name = call.partition("(")[0]
    text = f"import torch\nfrom apex.normalization import {name}\n\n\ndef make():\n    return {call}\n"
    results = []
    for version in (text, migrated(text, "NPU213")):
        layer = space_of(version)["make"]().double()
        generator = torch.Generator().manual_seed(2)
        state = {
            key: torch.randn(value.shape, generator=generator, dtype=torch.float64)
            for key, value in sorted(layer.state_dict().items())
        }
        layer.load_state_dict(state)
        x = torch.randn(3, 5, 6, generator=generator, dtype=torch.float64, requires_grad=True)
        out = layer(x)
        (out * torch.linspace(-1, 1, out.numel(), dtype=torch.float64).reshape(out.shape)).sum().backward()
        results.append([out.detach(), x.grad, *(p.grad for _, p in sorted(layer.named_parameters()))])
    torch.testing.assert_close(results[1], results[0], rtol=1e-9, atol=1e-9)


TRAINING = """\
import torch
from apex import amp


def train(model, optimizer, criterion, batches):
    model, optimizer = amp.initialize(model, optimizer, opt_level="LEVEL")
    for inputs, targets in batches:
        outputs = model(inputs)
        loss = criterion(outputs, targets)
        optimizer.zero_grad()
        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
CLIP        optimizer.step()
"""
CLIP = "        torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), 0.5)\n"


def trained(text: str, *, overflow: int | None = None) -> list[Any]:
    """Weights after eight steps; in step ``overflow`` the inputs are so large that half precision cannot hold them."""
    torch.manual_seed(4)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
    batches = [(torch.randn(5, 4), torch.randn(5, 2)) for _ in range(8)]
    if overflow is not None:
        batches[overflow] = (batches[overflow][0] * 1e6, batches[overflow][1])
    space_of(text)["train"](model, optimizer, torch.nn.functional.mse_loss, batches)
    return [parameter.detach() for parameter in model.parameters()]


@pytest.mark.parametrize("clip", ["", CLIP])
def test_level_zero_is_single_precision(clip: str) -> None:
    text = TRAINING.replace("LEVEL", "O0").replace("CLIP", clip)
    first, second = trained(text), trained(migrated(text, "NPU210"))
    assert all(torch.equal(one, other) for one, other in zip(first, second, strict=True))


@pytest.mark.parametrize("clip", ["", CLIP])
@pytest.mark.parametrize("overflow", [None, 0, 3])
def test_level_one_is_autocast_and_a_loss_scale(clip: str, overflow: int | None, amp: reference.Amp) -> None:
    text = TRAINING.replace("LEVEL", "O1").replace("CLIP", clip)
    after = migrated(text, "NPU210")
    second = trained(after, overflow=overflow)
    # The loss function is handed over before apex patches it, as in programs that import it by name.
    text = text.replace("criterion(outputs, targets)", "torch.nn.functional.mse_loss(outputs, targets)")
    first = trained(text, overflow=overflow)
    assert overflow is None or amp.scale < 65536
    torch.testing.assert_close(second, first, rtol=1e-6, atol=1e-7)
    assert all(bool(torch.isfinite(one).all()) for one in second)


def test_a_step_that_overflows_is_what_differs_without_a_scaler() -> None:
    after = migrated(TRAINING.replace("LEVEL", "O1").replace("CLIP", ""), "NPU210")
    plain = after.replace("scaler.scale(loss).backward()", "loss.backward()").replace(
        "scaler.step(optimizer)", "optimizer.step()"
    )
    plain = plain.replace("        scaler.update()\n", "")
    with pytest.raises(AssertionError):
        torch.testing.assert_close(trained(plain, overflow=3), trained(after, overflow=3))


def test_level_two_is_not_rewritten() -> None:
    text = TRAINING.replace("LEVEL", "O2").replace("CLIP", "")
    assert output(text, unsafe=True) == text
    message = next(item.message for item in findings(text) if item.subject == "apex.amp.initialize")
    assert "float16" in message
    assert "float32 copies" in message
