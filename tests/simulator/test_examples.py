"""The example projects, migrated, train on the simulated NPU and end with the weights that the originals end with on the CPU."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import npuify
from npuify.options import Options
from npuify.simulator import tables
from npuify.simulator.settings import Settings
from tests.warm import Program

from .conftest import environment

if TYPE_CHECKING:
    from tests.warm import Done, Warm

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"),
    pytest.mark.skipif(not any(map(shutil.which, ("g++", "clang++", "c++"))), reason="no C++ compiler"),
]

EXAMPLES = Path(__file__).parents[2] / "examples"
CLASSIFY = "train.py --epochs=2 --steps-per-epoch=2 --batch-size=4 --workers=0 --train-size=16 --val-size=8 --no-amp"
TAG = "train.py --config=configs/small.yaml --set=train.steps=6 --set=train.log_every=1 --set=train.save_every=6"

GPT = "--steps=3 --batch-size=2 --layers=1 --width=16 --heads=2 --no-compile"
INFERENCE = (("make_weights.py", "--steps=1"), ("infer.py", "--images=4"), ("benchmark.py", "--repeats=1"))
STYLES = ("npu", "portable", "auto")
SIMULATED = Settings(cpu_random=True, policy="off").environment()
SIMULATE = [sys.executable, "-m", "npuify", "simulate", "--cpu-random", "--policy=off"]
TRAINED = ("image_classification", "small_gpt", "ddp_training")
TOGETHER = Path(__file__).with_name("in_one_process.py")
ON_NPU = ["--set=train.device=npu", "--set=distributed.backend=hccl"]
"""A portable project's settings stay those of CUDA; on an NPU they are given when the program is started."""

FULL_PRECISION = """
import contextlib, runpy, sys, torch
import precision
precision.pick_dtype = lambda *_: torch.float32
precision.autocast_for = lambda *_: contextlib.nullcontext()
sys.argv[0] = "train.py"
runpy.run_path("train.py", run_name="__main__")
"""
"""small_gpt has no switch for full precision; half precision cannot agree with the CPU's float32."""


def migrated(name: str, folder: Path, style: str = "npu") -> Path:
    """The example as its users have it after migration, for the release that belongs to this torch."""
    release = tables.release_for(importlib.metadata.version("torch"))
    options = Options(unsafe=True, jobs=1, cache=False, style=style, torch_npu=release)  # type: ignore[arg-type]
    npuify.migrate(EXAMPLES / name, folder, options)
    return folder


def original(name: str, folder: Path) -> Path:
    shutil.copytree(EXAMPLES / name, folder)
    return folder


def run(command: list[str], folder: Path) -> str:
    env = {**environment(), "CUDA_VISIBLE_DEVICES": "-1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def ended_well(*all_done: Done) -> str:
    for done in all_done:
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return "".join(done.stdout + done.stderr for done in all_done)


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


@pytest.fixture(scope="module", name="ddp_on_cpu")
def _ddp_on_cpu(tmp_path_factory: pytest.TempPathFactory, on_cpu: Warm) -> Path:
    """What two processes on the CPU end with."""
    cpu = original("ddp_training", tmp_path_factory.mktemp("ddp") / "cpu")
    ended_well(*on_cpu.ranks(2, Program([*TAG.split(), "--set=distributed.backend=gloo"], cpu)))
    return cpu


def test_ddp_training_as_users_start_it(tmp_path: Path, ddp_on_cpu: Path) -> None:
    npu = migrated("ddp_training", tmp_path / "npu")
    launcher = "torchrun --standalone --nproc_per_node=2".split()
    said = run([*SIMULATE, "--devices=2", *launcher, *TAG.split()], npu)
    assert said.count("npuify: simulating") == 1, "said once for all processes"
    assert_same(npu, ddp_on_cpu)


@pytest.mark.thorough
@pytest.mark.parametrize("style", [style for style in STYLES if style != "npu"])
def test_ddp_training_on_two(style: str, tmp_path: Path, ddp_on_cpu: Path, on_npus: Warm) -> None:
    npu = migrated("ddp_training", tmp_path / "npu", style)
    ended_well(*on_npus.ranks(2, Program([*TAG.split(), *(ON_NPU if style == "portable" else [])], npu, SIMULATED)))
    assert_same(npu, ddp_on_cpu)


def programs(folder: Path, on_npu: bool, settings: list[str]) -> str:
    """What :mod:`in_one_process` is to run: each example below ``folder``, on one process."""
    (folder / "small_gpt" / "in_full.py").write_text(FULL_PRECISION)
    device = [] if on_npu else ["--device=cpu"]
    return json.dumps(
        [
            [str(folder / "image_classification"), *CLASSIFY.split()],
            [str(folder / "small_gpt"), "in_full.py", *GPT.split(), *device],
            [str(folder / "ddp_training"), *TAG.split(), *settings],
            *([[str(folder / "inference"), script, *rest] for script, *rest in INFERENCE] if on_npu else []),
        ]
    )


@pytest.fixture(scope="module", name="all_on_cpu")
def _all_on_cpu(tmp_path_factory: pytest.TempPathFactory, on_cpu: Warm) -> Path:
    folder = tmp_path_factory.mktemp("cpu")
    for name in TRAINED:
        original(name, folder / name)
    what = programs(folder, False, ["--set=distributed.backend=gloo"])
    ended_well(*on_cpu.ranks(1, Program([str(TOGETHER), what], folder)))
    return folder


@pytest.mark.parametrize("style", ["npu", *(pytest.param(one, marks=pytest.mark.thorough) for one in STYLES[1:])])
def test_all_on_one_process(style: str, tmp_path: Path, all_on_cpu: Path, on_npus: Warm) -> None:
    for name in [*TRAINED, "inference"]:
        migrated(name, tmp_path / name, style)
    what = programs(tmp_path, True, ON_NPU if style == "portable" else [])
    said = ended_well(*on_npus.ranks(1, Program([str(TOGETHER), what], tmp_path, SIMULATED)))
    assert "device: Ascend910B1" in said
    # With transfer_to_npu a program's own devices are called what it calls them.
    name = "cuda" if style == "auto" else "npu"
    assert f"using {name}:0 Ascend910B1" in said
    assert f"float16 on {name}:0" in said
    for name in TRAINED:
        assert_same(tmp_path / name, all_on_cpu / name)


def test_the_environment_is_as_it_was() -> None:
    assert not any(name.startswith("NPUIFY_SIMULATE") for name in os.environ)
