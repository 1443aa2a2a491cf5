"""Where rounding of another device's kernels looks like a fault: sums that cancel, and single values at a kink."""

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

    from npuify.verify.comparison.result import Comparison

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the programs run in forks")

PROGRAM = """
    import sys
    import torch
    from torch import nn

    what = sys.argv[1]

    class AtTheKink(nn.Module):
        def forward(self, x):
            # Rounding decides on which side of the kink one value lies.
            nearly = x - x.detach() + (1e-9 if what == "sound" else -1e-9)
            here = torch.zeros_like(x, dtype=torch.bool)
            here[3, 7] = True
            return torch.relu(torch.where(here, nearly, x))

    torch.manual_seed(1)
    x = torch.randn(64, 16, 4, 4)
    x = x - x.mean((0, 2, 3), keepdim=True)
    net = nn.Sequential(
        nn.Conv2d(16, 16, 1, bias=False), nn.BatchNorm2d(16), nn.Flatten(), nn.Linear(256, 512), AtTheKink(), nn.Linear(512, 512)
    )
    if what != "sound":
        x = x * (1 + 1e-6 * torch.randn_like(x))
    if what == "mean kept otherwise":
        net[1].register_forward_hook(lambda bn, *_: (bn.running_mean.data.add_(0.3 * bn.running_var.sqrt()), None)[1])
    if what == "backward of a layer":
        net[3].register_full_backward_hook(lambda module, given, _: (given[0] * 1.3,))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(2):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
"""


OTHER_KERNELS = """
    import sys
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    what = sys.argv[1]

    class LSTMCell(nn.LSTMCell):
        def forward(self, *args):
            h, c = super().forward(*args)
            # As of a kernel that computes both at once: the gradient of c lacks what comes through h.
            return (h, c.clone()) if what == "other kernels" else (h, c)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Tanh())
            self.cell = LSTMCell(16, 16)
        def forward(self, x):
            x = checkpoint(self.block, x, use_reentrant=True)
            state = self.cell(x)
            for _ in range(3):
                state = self.cell(x, state)
            return state[0]

    torch.manual_seed(1)
    net = Net()
    if what == "bias":
        net.block[2].register_full_backward_hook(lambda module, given, _: (given[0] * 1.3,))
    x = torch.randn(64, 8)
    if what != "sound":
        x = x * (1 + 1e-7 * torch.randn_like(x))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(2):
        optimizer.zero_grad()
        net(x.clone().requires_grad_()).square().mean().backward()
        optimizer.step()
"""


@pytest.fixture(scope="module")
def held(
    tmp_path_factory: pytest.TempPathFactory, capture_all: Callable[..., dict[str, Path]]
) -> dict[str, Comparison]:
    folder: Path = tmp_path_factory.mktemp("rounding")
    program = folder / "program.py"
    program.write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
    faults = ("sound", "rounded", "mean kept otherwise", "backward of a layer")
    made = capture_all({fault: [str(program), fault] for fault in faults}, folder)
    return {fault: compare(made["sound"], made[fault], allow=["same-device"]) for fault in faults[1:]}


def test_rounding_is_no_fault(held: dict[str, Comparison]) -> None:
    """The running mean of a mean that is zero is rounding and nothing else, and one turned value is no other backward."""
    assert held["rounded"].first is None, held["rounded"].first


def test_a_running_mean_that_is_kept_otherwise(held: dict[str, Comparison]) -> None:
    first = held["mean kept otherwise"].first
    assert first is not None
    assert (first.kind, first.name) == ("buffer", "Sequential.1")


def test_another_backward(held: dict[str, Comparison]) -> None:
    first = held["backward of a layer"].first
    assert first is not None
    assert (first.kind, first.name) == ("backward", "Sequential.3")


def test_cell_states_and_what_is_computed_again(tmp_path: Path, capture_all: Callable[..., dict[str, Path]]) -> None:
    """A bias before a norm has a gradient of rounding alone, also where the gradient around it cannot be seen."""
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(OTHER_KERNELS), encoding="utf-8")
    ways = ("sound", "other kernels", "bias")
    made = capture_all({way: [str(program), way] for way in ways}, tmp_path)
    result = compare(made["sound"], made["other kernels"], allow=["same-device"])
    assert result.first is None, result.first
    assert not compare(made["sound"], made["bias"], allow=["same-device"]).agrees
