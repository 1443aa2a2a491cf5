"""The example projects, migrated, train on the simulated NPU and end with the weights that the originals end with on the CPU."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import npuify
from npuify.options import Options

from .conftest import environment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"),
    pytest.mark.skipif(not any(map(shutil.which, ("g++", "clang++", "c++"))), reason="no C++ compiler"),
]

EXAMPLES = Path(__file__).parents[2] / "examples"
CLASSIFY = "train.py --epochs=2 --steps-per-epoch=2 --batch-size=4 --workers=0 --train-size=16 --val-size=8 --no-amp"
TAG = "train.py --config=configs/small.yaml --set=train.steps=6 --set=train.log_every=1 --set=train.save_every=6"

FULL_PRECISION = """
import contextlib, runpy, sys, torch
import precision
precision.pick_dtype = lambda *_: torch.float32
precision.autocast_for = lambda *_: contextlib.nullcontext()
sys.argv[0] = "train.py"
runpy.run_path("train.py", run_name="__main__")
"""
"""small_gpt has no switch for full precision; half precision cannot agree with the CPU's float32."""


def migrated(name: str, folder: Path) -> Path:
    npuify.migrate(EXAMPLES / name, folder, Options(unsafe=True, jobs=1, cache=False))
    return folder


def original(name: str, folder: Path) -> Path:
    shutil.copytree(EXAMPLES / name, folder)
    return folder


def run(command: list[str], folder: Path) -> str:
    env = {**environment(), "CUDA_VISIBLE_DEVICES": "-1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def on_npu(folder: Path, *arguments: str) -> str:
    return run([sys.executable, "-m", "npuify", "simulate", "--cpu-random", "--policy=off", *arguments], folder)


def on_cpu(folder: Path, *arguments: str) -> str:
    return run([sys.executable, *arguments], folder)


def tensors(folder: Path) -> dict[str, object]:
    """All floating tensors in the checkpoints below ``folder``, by file and place."""
    import torch

    found: dict[str, object] = {}

    def collect(place: str, value: object) -> None:
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            found[place] = value
        elif isinstance(value, dict):
            for key, one in value.items():
                collect(f"{place}/{key}", one)

    for file in sorted(folder.rglob("*.pt")):
        collect(file.name, torch.load(file, map_location="cpu", weights_only=False))
    return found


def assert_same(npu: Path, cpu: Path) -> None:
    import torch

    left, right = tensors(npu), tensors(cpu)
    assert left.keys() == right.keys()
    assert left
    for place, value in left.items():
        torch.testing.assert_close(value, right[place], rtol=1e-5, atol=1e-7, msg=lambda text, p=place: f"{p}: {text}")


def test_image_classification(tmp_path: Path) -> None:
    npu, cpu = migrated("image_classification", tmp_path / "npu"), original("image_classification", tmp_path / "cpu")
    said = on_npu(npu, *CLASSIFY.split())
    assert "Ascend910B1" in said
    on_cpu(cpu, *CLASSIFY.split())
    assert_same(npu, cpu)


def test_small_gpt(tmp_path: Path) -> None:
    arguments = "--steps=3 --batch-size=2 --layers=1 --width=16 --heads=2 --no-compile".split()
    npu, cpu = migrated("small_gpt", tmp_path / "npu"), original("small_gpt", tmp_path / "cpu")
    for folder in (npu, cpu):
        (folder / "in_full.py").write_text(FULL_PRECISION)
    on_npu(npu, "in_full.py", *arguments)
    on_cpu(cpu, "in_full.py", *arguments, "--device=cpu")
    assert_same(npu, cpu)


@pytest.mark.parametrize("processes", [1, 2])
def test_ddp_training(tmp_path: Path, processes: int) -> None:
    npu, cpu = migrated("ddp_training", tmp_path / "npu"), original("ddp_training", tmp_path / "cpu")
    # What a finding leaves to a person: there is no version of NCCL to ask for.
    hardware = npu / "ddp_training" / "hardware.py"
    hardware.write_text(hardware.read_text().replace("torch.cuda.nccl.version()", "()"))
    launcher = f"--standalone --nproc_per_node={processes}".split()
    device, backend = "--set=train.device=npu", "--set=distributed.backend=hccl"
    said = on_npu(npu, f"--devices={processes}", "torchrun", *launcher, *TAG.split(), device, backend)
    assert said.count("npuify: simulating") == 1, "said once for all processes"
    gloo = "--set=distributed.backend=gloo"
    on_cpu(cpu, "-m", "torch.distributed.run", *launcher, *TAG.split(), gloo)
    assert_same(npu, cpu)


def test_inference(tmp_path: Path) -> None:
    npu = migrated("inference", tmp_path / "npu")
    on_npu(npu, "make_weights.py", "--steps=1")
    assert "npu:0" in on_npu(npu, "infer.py", "--images=4")
    assert "float16 on npu" in on_npu(npu, "benchmark.py", "--repeats=1")


def test_the_environment_is_as_it_was() -> None:
    assert not any(name.startswith("NPUIFY_SIMULATE") for name in os.environ)
