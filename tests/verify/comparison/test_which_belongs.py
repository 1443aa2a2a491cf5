"""Calls and gradients of one name in one step: the first belongs to the first."""

from __future__ import annotations

import os
import textwrap
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch")
pytest.importorskip("numpy")

from npuify.verify.comparison.compare import compare

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the programs run in forks")

TWICE = """
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(2):
        x = torch.randn(5, 4, requires_grad=True)
        out = net(x)
        # A divergence, as of continuous flows: the results of modules get a gradient here, and another one below.
        (slope,) = torch.autograd.grad(out, x, torch.randn_like(out), create_graph=True)
        optimizer.zero_grad()
        (out.square().mean() + slope.square().mean()).backward()
        optimizer.step()
"""
A_PART_ALONE = """
    import torch
    from torch import nn

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = nn.Linear(6, 2), nn.Linear(2, 6)
        def forward(self, x):
            return self.decoder(self.encoder(x))

    torch.manual_seed(0)
    net = Both()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(3):
        x = torch.randn(16, 6)
        optimizer.zero_grad()
        (net(x) - x).square().mean().backward()
        optimizer.step()
        # The decoder by itself, of another size, in the same step as the model's next call.
        net.decoder(torch.randn(3, 2))
"""


@pytest.mark.parametrize("text", [TWICE, A_PART_ALONE], ids=["differentiated twice", "a part alone"])
def test_two_runs_of_one_program_agree(tmp_path: Path, capture_all: Callable[..., dict[str, Path]], text: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(text), encoding="utf-8")
    made = capture_all({"one": [str(program)], "two": [str(program)]}, tmp_path)
    held = compare(made["one"], made["two"], allow=["same-device"])
    assert held.agrees and held.differences == () and held.matched, held.differences
