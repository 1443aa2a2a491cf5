"""Half types change the side of a kink here and there, which is no fault of the gradient."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tools.verify_faults.judging import named

from npuify.verify.comparison.compare import compare

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PROGRAM = """
import sys
import torch
from torch import nn
from torch.nn import functional

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width)
        self.shortcut = nn.Sequential(nn.Conv2d(width, width, 1, bias=False), nn.BatchNorm2d(width))
    def forward(self, x):
        wrong = 0.8 if "wrong" in sys.argv else 1.0
        return functional.relu(self.norm(self.conv(x)) + wrong * self.shortcut(x))

torch.manual_seed(3)
model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), Block(16), Block(16), nn.Flatten(), nn.LazyLinear(4))
x, y = torch.randn(8, 3, 12, 12), torch.randint(0, 4, (8,))
model(x)
optimizer = torch.optim.SGD(model.parameters(), lr=0.003)
for _ in range(3):
    with torch.autocast("cpu", torch.float16, enabled="half" in sys.argv):
        loss = functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory, capture_all: Callable[..., dict[str, Path]]) -> dict[str, Path]:
    pytest.importorskip("torch")
    pytest.importorskip("numpy")
    if not hasattr(os, "fork"):
        pytest.skip("the programs run in forks")
    folder = tmp_path_factory.mktemp("kinks")
    program = folder / "residual.py"
    program.write_text(PROGRAM)
    ways = {"full": [], "half": ["half"], "wrong": ["half", "wrong"]}
    return capture_all({way: [str(program), *words] for way, words in ways.items()}, folder)


def test_a_relu_after_a_sum_raises_no_alarm(captures: dict[str, Path]) -> None:
    result = compare(captures["full"], captures["half"], allow=["same-device"])
    assert result.agrees, named(result)
    assert max(point.error for point in result.points if point.direction == "backward") > 0.016, "kinks were passed"


def test_a_fault_of_the_code_between_modules_is_found_and_is_that_of_the_module_around(
    captures: dict[str, Path],
) -> None:
    result = compare(captures["full"], captures["wrong"], allow=["same-device"])
    assert result.first is not None
    assert result.first.name == "Sequential.2", named(result)
