"""What is small and yet a fault, and what is large and yet none."""

from __future__ import annotations

import os
import textwrap
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch")
pytest.importorskip("numpy")

from tools.verify_faults.zoo import rates

from npuify.verify.comparison.compare import compare
from npuify.verify.comparison.limits import gradient_limit, module_limit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess

    from npuify.verify.comparison.result import Comparison

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the programs run in forks")

PROGRAM = """
    import sys
    import torch
    from torch import nn
    from torch.nn import functional

    fault = sys.argv[1]

    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.started = 1.5 if fault == "own number" else 1.25
            self.body = nn.Linear(6, 6)
        def forward(self, x):
            return functional.gelu(self.body(x), approximate="tanh" if fault == "gelu" else "none")

    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Dropout(0.3 if fault == "dropout" else 0.1), Own())
    if fault == "running mean":
        def forward(x, bn=net[1]):
            return functional.batch_norm(x, bn.running_mean, bn.running_var, bn.weight, bn.bias, True, 0.5, bn.eps)
        net[1].forward = forward
    if fault == "frozen":
        net[0].weight.requires_grad_(False)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(2):
        optimizer.zero_grad()
        net(torch.randn(16, 6)).square().mean().backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1e-3)
        optimizer.step()
"""


@pytest.fixture(scope="module")
def held(
    tmp_path_factory: pytest.TempPathFactory, capture_all: Callable[..., dict[str, Path]]
) -> dict[str, Comparison]:
    folder: Path = tmp_path_factory.mktemp("small")
    program = folder / "program.py"
    program.write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
    faults = ("none", "again", "dropout", "gelu", "running mean", "own number", "frozen")
    made = capture_all({fault: [str(program), fault] for fault in faults}, folder)
    return {fault: compare(made["none"], made[fault], allow=["same-device"]) for fault in faults[1:]}


def test_the_same_program_agrees(held: dict[str, Comparison]) -> None:
    assert held["again"].agrees
    assert held["again"].differences == ()


def test_a_setting_that_these_numbers_do_not_show(held: dict[str, Comparison]) -> None:
    first = held["dropout"].first
    assert first is not None
    assert (first.kind, first.name) == ("setting", "Sequential.2")
    assert "p is 0.1 in A and 0.3 in B" in first.message


def test_an_approximation_between_two_runs_on_cpus(held: dict[str, Comparison]) -> None:
    first = held["gelu"].first
    assert first is not None
    assert (first.kind, first.name) == ("forward", "Sequential.3")
    assert first.error is not None
    assert module_limit("float32", host=True) < first.error


def test_what_only_the_evaluation_would_show(held: dict[str, Comparison]) -> None:
    first = held["running mean"].first
    assert first is not None
    assert (first.kind, first.name) == ("buffer", "Sequential.1")
    assert first.message.startswith("running_mean: ")


def test_a_number_of_a_class_of_the_program_s_own_is_a_warning(held: dict[str, Comparison]) -> None:
    result = held["own number"]
    assert result.agrees
    assert [(one.kind, one.severity, one.name) for one in result.differences] == [
        ("setting", "warning", "Sequential.3")
    ]


def test_what_is_frozen_comes_before_what_clipping_makes_of_it(held: dict[str, Comparison]) -> None:
    result = held["frozen"]
    assert result.first is not None
    assert (result.first.kind, result.first.name) == ("frozen", "Sequential.0")


def test_devices_are_given_more_room_than_two_runs_on_cpus() -> None:
    for limit in (module_limit, gradient_limit):
        assert limit("float32", host=True) < limit("float32") / 4
        assert limit("bfloat16", host=True) == limit("bfloat16")
    assert module_limit("float32") == 2.0**-13


@pytest.mark.thorough
def test_a_model_of_the_zoo(
    monkeypatch: pytest.MonkeyPatch,
    forked: Callable[..., CompletedProcess[str]],
    capture_all: Callable[..., dict[str, Path]],
) -> None:
    """Choices that rounding turns raise no alarm; each planted fault is found at its module."""
    monkeypatch.setattr(rates, "forked", forked)
    monkeypatch.setattr(rates, "capture_all", capture_all)
    outcomes = rates.tried("mixture of experts")
    wrong = [one for one in outcomes if one.result not in ("found", "quiet", "no effect", "too small")]
    assert not wrong
    assert sum(one.result == "found" for one in outcomes) >= 6
    assert sum(one.result == "quiet" for one in outcomes) == 5
