"""``npuify trace`` as a command: its output, its exit codes, and that the program's own output does not get between."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch")

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import sys, torch
from torch import nn
print("from the program")
model = nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = torch.lgamma(model(torch.ones(2, 4)).exp()).sum()
    loss.backward()
    optimizer.step()
    print(float(loss))
open(sys.argv[1], "w").write("the end")
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NPUIFY_TRACEBACK": "0"}
    return subprocess.run(
        [sys.executable, "-m", "npuify", "trace", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_a_program_that_names_no_npu(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    done = run(tmp_path, "--format", "json", "--fail-on", "unsupported", "train.py", "end.txt")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert "from the program" in done.stderr
    assert (document["device"], document["steps"], document["stopped"]) == ("cpu", 1, True)
    assert not (tmp_path / "end.txt").exists()
    (lgamma,) = [call for call in document["calls"] if call["name"] == "aten::lgamma"]
    assert (lgamma["support"], lgamma["file"], lgamma["line"], lgamma["count"]) == ("fallback", "train.py", 8, 1)
    assert lgamma["inputs"] == ["float32[2, 4]"]


@pytest.mark.thorough
def test_fallbacks_fail_and_steps_end_with_the_program(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    done = run(
        tmp_path,
        "--steps",
        "0",
        "--fail-on",
        "fallback",
        "--format",
        "html",
        "--output",
        "o.html",
        "train.py",
        "end.txt",
    )
    assert done.returncode == 1, done.stderr
    assert (tmp_path / "end.txt").read_text() == "the end"
    page = (tmp_path / "o.html").read_text(encoding="utf-8")
    assert "aten::lgamma" in page and done.stdout == ""


def test_a_program_that_fails_is_told_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\nx = torch.nn.Linear(2, 2)\nx(torch.ones(1, 3))\n")
    done = run(tmp_path, "train.py")
    assert done.returncode == 1
    assert "The program failed: train.py:3: RuntimeError" in done.stdout
    assert done.stdout.startswith("train.py: until it failed (no step of an optimizer), held against torch_npu ")
    assert "fake_tensor.py" not in done.stderr, "torch's own story of shapes that do not fit"


def test_wrong_use(tmp_path: Path) -> None:
    for arguments, message in (
        ((), "nothing to trace"),
        (("none.py",), "no such file: none.py"),
        (("--bogus", "none.py"), "npuify trace has no option --bogus"),
        (("--soc", "Ascend1", __file__), "cannot simulate a chip called Ascend1"),
    ):
        done = run(tmp_path, *arguments)
        assert done.returncode == 2 and message in done.stderr, done.stderr
    assert "fallback" in run(tmp_path, "--help").stdout


MIGRATED = """
import torch, torch_npu
from torch import nn
device = torch.device("npu:0")
model = nn.Sequential(nn.Linear(8, 8), nn.GELU()).to(device).bfloat16()
optimizer = torch.optim.AdamW(model.parameters())
gamma = torch.ones(8, device=device, dtype=torch.bfloat16, requires_grad=True)
x = torch.randn(4, 8).npu().bfloat16()
y = torch_npu.npu_rms_norm(model(x), gamma)[0]
y.float().square().mean().backward()
optimizer.step()
"""


@pytest.mark.skipif(shutil.which("c++") is None and shutil.which("g++") is None, reason="the device needs a compiler")
def test_a_migrated_program_runs_on_fake_memory_of_the_simulated_device(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(MIGRATED)
    done = run(tmp_path, "--format", "json", "train.py")
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert document["device"] == "npu" and document["host_calls"] > 0
    calls = {(call["name"], call["phase"]): call for call in document["calls"]}
    assert calls["npu::npu_rms_norm", "forward"]["line"] == 9
    assert calls["npu::npu_rms_norm_backward", "backward"]["line"] == 9
    assert calls["npu::npu_rms_norm", "forward"]["support"] == "kernel"
    assert any(name.startswith("aten::_foreach") for name, _ in calls), "the optimizer joins parameters, as on an NPU"
    assert calls["aten::gelu", "forward"]["inputs"] == ["bfloat16[4, 8]"]


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("c++") is None and shutil.which("g++") is None, reason="the device needs a compiler")
def test_what_a_chip_of_the_first_generation_lacks(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(MIGRATED)
    done = run(tmp_path, "--format", "json", "--soc", "Ascend910A", "--fail-on", "unsupported", "train.py")
    assert done.returncode == 1, done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert document["soc"] == "Ascend910A"
    told = {call["name"]: (call["support"], call["message"][:22]) for call in document["calls"]}
    assert told["aten::addmm"] == ("type", "bfloat16 on Ascend910A")
    assert told["aten::mean"][0] == "kernel"
