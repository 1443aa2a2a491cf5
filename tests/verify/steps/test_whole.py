"""The whole acceptance of a small project, with the CPU as the reference and the simulated NPU as the target."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"),
    pytest.mark.skipif(importlib.util.find_spec("numpy") is None, reason="NumPy is not installed"),
    pytest.mark.skipif(not any(map(shutil.which, ("g++", "clang++", "c++"))), reason="no C++ compiler"),
]

PROGRAM = """
import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=12)
parser.add_argument("--resume", default="")
args = parser.parse_args()

several = "RANK" in os.environ
if several:
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
start = 0
if args.resume:
    state = torch.load(args.resume, map_location=device)
    model.load_state_dict(state["model"])
    start = state["step"]
wrapped = DistributedDataParallel(model) if several else model
torch.manual_seed(1)
data, wanted = torch.randn(32, 8), torch.randn(32, 1)
for step in range(start, args.steps):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(wrapped(data.to(device)), wanted.to(device))
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.6f}")
torch.save({"model": model.state_dict(), "step": args.steps}, "last.pt")
if several:
    dist.destroy_process_group()
"""


def accept(project: Path, *options: str) -> tuple[int, dict[str, object], str]:
    source = Path(__file__).parents[3] / "src"
    path = os.pathsep.join(filter(None, [str(source), os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-m", "npuify", "verify", "steps", str(project), "--format", "json", *options]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.returncode, json.loads(done.stdout), done.stdout


@pytest.mark.thorough
def test_from_start_to_end(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "train.py").write_text(PROGRAM)
    code, report, text = accept(project, "--entry", "train.py --steps=9", "--iterations", "9")
    steps = {step["name"]: step for step in report["steps"]}  # type: ignore[attr-defined, index]
    assert list(steps) == ["forward", "backward", "compare", "iterations", "loss", "resume", "cards"]
    assert {name: step["status"] for name, step in steps.items()} == dict.fromkeys(steps, "passed"), text
    assert {step["where"] for step in steps.values()} == {"simulation"}
    assert code == 0
    assert report["reference"] == "CPU"
    assert report["asked"] == ["--entry", "train.py --steps=9", "--iterations", "9"]
    assert report["target"] == "simulated NPU"
    assert "hardware" not in text
    assert "falls" in steps["loss"]["message"]
    assert sorted(path.name for path in project.iterdir()) == ["train.py"], "the project is not changed"
