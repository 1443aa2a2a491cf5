"""Programs do what a capture did not expect: they are captured all the same, and nothing of theirs is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch")
pytest.importorskip("numpy")


from npuify.verify.comparison.compare import compare
from npuify.verify.comparison.sources.capture import read

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the programs run in forks")
SOURCE = Path(__file__).parents[3] / "src"

STRANGE = """
    import torch
    from torch import nn

    class Doubling(nn.Module):
        def forward(self, x):
            return x * 2

    class Rows(torch.utils.data.Dataset):
        def __init__(self):
            self.change = Doubling()
        def __len__(self):
            return 8
        def __getitem__(self, index):
            return self.change(torch.full((4,), float(index)))

    net = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
    print("traced", torch.jit.trace(nn.Linear(4, 2), torch.ones(1, 4)).graph is not None)
    layer = nn.Linear(4, 2)
    parameters = dict(layer.named_parameters())
    def one(row):
        return torch.func.functional_call(layer, parameters, (row,)).sum()
    print("mapped", torch.func.vmap(torch.func.grad(one))(torch.ones(5, 4)).shape)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for rows in torch.utils.data.DataLoader(Rows(), batch_size=4, num_workers=2):
        optimizer.zero_grad()
        net(rows).square().mean().backward()
        optimizer.step()
"""


def written(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(textwrap.dedent(text), encoding="utf-8")
    return str(folder / name)


def test_traces_maps_and_loading_processes(tmp_path: Path, capture_all: Callable[..., dict[str, Path]]) -> None:
    program = written(tmp_path, "program.py", STRANGE)
    made = capture_all({"a": [program], "b": [program]}, tmp_path)
    found = read(made["a"])
    assert len(found.ranks) == 1, "what loads data trains nothing"
    names = {call.name for call in found.ranks[0].calls}
    assert "Doubling" not in names
    assert {"Sequential", "Sequential.0", "Sequential.1"} <= names
    kept = [value for value in found.ranks[0].values if value.kind == "buffer" and value.when == "after"]
    assert {value.name for value in kept} >= {"Sequential.1.running_mean", "Sequential.1.running_var"}
    assert compare(made["a"], made["b"], allow=["same-device"]).agrees


def test_processes_of_one_rank_go_together_in_their_order(
    tmp_path: Path, capture_all: Callable[..., dict[str, Path]]
) -> None:
    program = """
        import sys, torch
        net = torch.nn.Linear(4, int(sys.argv[1]))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            net(torch.ones(2, 4)).square().sum().backward()
            optimizer.step()
    """
    made = capture_all(
        {f"{side}{width}": [written(tmp_path, "program.py", program), width] for side in "ab" for width in "23"},
        tmp_path,
    )
    for side in "ab":
        # As a script leaves it that runs both, one after the other.
        (made[f"{side}3"] / "rank0").rename(made[f"{side}2"] / "rank0-2")
    found = read(made["a2"])
    assert [rank.calls[0].outputs[0].shape for rank in found.ranks] == [(2, 2), (2, 3)]
    result = compare(made["a2"], made["b2"], allow=["same-device"])
    assert result.agrees, result.verdict
    assert result.matched == 4
    assert result.unmatched == (0, 0)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_interrupted_program_may_save_and_its_capture_stands(tmp_path: Path) -> None:
    program = written(
        tmp_path,
        "program.py",
        """
        import time, torch
        net = torch.nn.Linear(3, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        try:
            for step in range(10_000):
                optimizer.zero_grad()
                net(torch.ones(4, 3)).sum().backward()
                optimizer.step()
                print("step", step, flush=True)
                time.sleep(0.05)
        except KeyboardInterrupt:
            time.sleep(0.8)
            torch.save(net.state_dict(), "saved.pt")
            raise
        """,
    )
    command = [sys.executable, "-m", "npuify", "verify", "capture", "-o", "a", "--steps", "0", program]
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "CUDA_VISIBLE_DEVICES": ""}
    run = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert run.stdout is not None
    for line in run.stdout:
        if line.startswith("step 2"):
            run.send_signal(signal.SIGINT)
            break
    said = run.communicate(timeout=300)[1]
    assert run.returncode == 1, said
    assert (tmp_path / "saved.pt").is_file(), "the program had the time to save"
    # Some builds of Python end with 1 after a KeyboardInterrupt.
    assert json.loads((tmp_path / "a" / "capture.json").read_text())["result"]["code"] in (-signal.SIGINT, 1)
    assert "was killed by SIGINT" in said
    assert read(tmp_path / "a").ranks[0].optimizers
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a", "program.py", "saved.pt"]
