"""`npuify scaffold training`: what it writes is clean, runs, and its own tests hold."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import npuify
from npuify.cli.app import app
from npuify.model import NpuifyError
from npuify.options import Options
from npuify.scaffold import STYLES, scaffold_training
from npuify.scaffold.training import PACKAGE, package_name

ROOT = Path(__file__).parents[2]
HAS_TORCH = importlib.util.find_spec("torch") is not None
CAN_SIMULATE = (
    HAS_TORCH
    and sys.platform in ("linux", "darwin")
    and any(shutil.which(compiler) for compiler in ("g++", "c++", "clang++"))
)
# On some virtual machines torch's own bfloat16 kernels for the newest instructions end in SIGILL.
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore", "ONEDNN_MAX_CPU_ISA": "AVX2"}


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A project of each style."""
    folder = tmp_path_factory.mktemp("scaffold")
    for style in STYLES:
        scaffold_training(folder / f"my-{style}", style=style)
    return {style: folder / f"my-{style}" for style in STYLES}


def run(*command: str, folder: Path) -> str:
    environment = {**ENVIRONMENT, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("style", STYLES)
def test_a_scan_finds_nothing_to_say(style: str, projects: dict[str, Path]) -> None:
    for read_as in STYLES:
        result = npuify.scan([projects[style]], Options(style=read_as, jobs=1, cache=False))
        assert result.files_seen > 15
        # A fused optimizer is for who has seen the step in a profile.
        assert [one for one in result.findings if one.code != "NPU813"] == []
        assert result.errors == ()


@pytest.mark.parametrize("style", STYLES)
def test_no_placeholder_is_left_and_the_package_has_its_name(style: str, projects: dict[str, Path]) -> None:
    files = [path for path in projects[style].rglob("*") if path.is_file()]
    text = "".join(path.read_text(encoding="utf-8") for path in files)
    assert PACKAGE not in text
    assert "{{" not in text
    assert (projects[style] / f"my_{style}" / "device.py").is_file()
    assert os.name != "posix" or os.access(projects[style] / "scripts" / "train.sh", os.X_OK)


@pytest.mark.skipif(importlib.util.find_spec("ruff") is None, reason="ruff is not installed")
@pytest.mark.parametrize("style", STYLES)
def test_it_is_clean(style: str, projects: dict[str, Path]) -> None:
    run("-m", "ruff", "check", "--no-cache", ".", folder=projects[style])
    run("-m", "ruff", "format", "--no-cache", "--check", ".", folder=projects[style])


@pytest.mark.slow
@pytest.mark.skipif(not HAS_TORCH, reason="PyTorch is not installed")
def test_its_own_tests_hold(projects: dict[str, Path]) -> None:
    """Among them: exact resume, accumulation, two processes as one, validation, checkpoints."""
    passed = run("-m", "pytest", "-q", "-p", "no:cacheprovider", folder=projects["portable"])
    assert "20 passed" in passed


@pytest.mark.slow
@pytest.mark.skipif(not CAN_SIMULATE, reason="needs PyTorch, a C++ compiler, and Linux or macOS")
def test_on_one_simulated_npu(projects: dict[str, Path]) -> None:
    program = ("train.py", "--config", "configs/tiny.yaml", "--set=train.epochs=1")
    said = run("-m", "npuify", "simulate", "--devices", "1", *program, folder=projects["portable"])
    assert "npu:0, torch.bfloat16" in said
    assert told(projects["portable"] / "runs" / "tiny" / "metrics.jsonl")[-1]["validation_samples"] == 21


TWICE = """
import shutil
from pathlib import Path

import torch

from my_npu import checkpoint, config, processes
from my_npu.trainer import Trainer

output = Path("runs/two")
settings = config.load(Path("configs/tiny.yaml"), ["train.epochs=1", "train.save_every=1", f"train.output={output}"])
with processes.joined("auto") as process:
    assert process.world_size == 2 and process.device.type == "npu"
    Trainer(settings, process).run()
    if process.first:
        shutil.copy(output / "metrics.jsonl", output / "whole.jsonl")
    torch.rand(7, device=process.device)
    Trainer(settings, process).run(checkpoint.path_of(output, 2))
"""


@pytest.mark.slow
@pytest.mark.skipif(not CAN_SIMULATE, reason="needs PyTorch, a C++ compiler, and Linux or macOS")
def test_on_two_simulated_npus_it_resumes_to_the_bit(projects: dict[str, Path]) -> None:
    """With dropout, in bfloat16: the generators of both devices are part of a checkpoint."""
    folder = projects["npu"]
    (folder / "twice.py").write_text(TWICE)
    torchrun = ("torchrun", "--standalone", "--nproc_per_node=2")
    run("-m", "npuify", "simulate", "--devices", "2", *torchrun, "twice.py", folder=folder)
    whole, resumed = (told(folder / "runs" / "two" / f"{name}.jsonl") for name in ("whole", "metrics"))
    assert resumed == whole
    assert [line["step"] for line in whole] == [1, 2, 3, 3]
    assert whole[-1]["validation_samples"] == 21


def told(path: Path) -> list[dict[str, float]]:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [{key: value for key, value in line.items() if key not in ("samples_per_second", "peak")} for line in lines]


def test_names_of_packages() -> None:
    assert package_name("My-Model.v2") == "my_model_v2"
    for wrong in ("", "2fast", "class", "torch", "json", "..", "tests", "x" * 80, "größe"):
        with pytest.raises(NpuifyError):
            package_name(wrong)


def test_the_release_that_is_asked_for(tmp_path: Path) -> None:
    scaffold_training(tmp_path / "project", torch_npu="2.7.1")
    text = (tmp_path / "project" / "requirements.txt").read_text(encoding="utf-8")
    assert "torch==2.7.1\ntorch-npu==2.7.1" in text


def test_a_folder_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    refused = CliRunner().invoke(app, ["scaffold", "training", "-o", str(tmp_path), "--name", "project"])
    assert refused.exit_code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    taken = CliRunner().invoke(app, ["scaffold", "training", "-o", str(tmp_path / "new"), "--name", "project"])
    assert taken.exit_code == 0
    assert "train.py" in taken.stdout
