"""A project that is itself a stack which knows the NPU gets its set and settings, and no edits of its own code."""

from __future__ import annotations

from pathlib import Path

import pytest

from npuify.engine.scan import scan
from npuify.migration import migrate
from npuify.model import Safety, Severity
from npuify.options import Options
from npuify.report.verdicts.verdict import Level, judge

ASKS = "import torch\n\n\ndef is_npu_available():\n    return hasattr(torch, 'npu')\n\n\nNAMES = ('cuda', 'cpu')\n"
CUDA = "import torch\n\n\ndef seed():\n    torch.cuda.manual_seed(1)\n    return torch.zeros(1).to('cuda')\n"
FILES = {
    "pyproject.toml": '[project]\nname = "verl"\nversion = "0.6.0"\ndependencies = ["torch==2.6.0"]\n',
    "verl/__init__.py": "",
    "verl/device.py": ASKS,
    "verl/seeds.py": "from verl.device import is_npu_available\n" + CUDA,
    "tests/test_it.py": "import verl.seeds\n" + CUDA,
    "tests/config.yaml": "trainer:\n  device: cuda\n",
    "docker/Dockerfile": "FROM ubuntu\nRUN pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/cu124\n",
    ".github/workflows/gpu.yml": "jobs:\n  a:\n    steps:\n      - run: nvidia-smi\n",
    "examples/train.sh": "python3 -m verl.trainer.main_ppo trainer.device=cuda trainer.n_gpus_per_node=8\n",
    "examples/serve.py": "import verl.seeds\n" + CUDA,
}


def written(root: Path, **changed: str) -> Path:
    for name, text in {**FILES, **{name.replace("__", "/"): text for name, text in changed.items()}}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def edited(root: Path, *, unsafe: bool = True, style: str = "npu") -> set[str]:
    result = migrate(root, None, Options(cache=False, style=style, unsafe=unsafe), mode="diff")
    return {change.file for change in result.changes}


@pytest.mark.parametrize("style", ["npu", "portable", "auto"])
def test_nothing_but_settings_and_programs_beside_it_is_edited(tmp_path: Path, style: str) -> None:
    written(tmp_path)
    assert edited(tmp_path, unsafe=False, style=style) <= {"examples/train.sh"}
    assert edited(tmp_path, style=style) <= {"examples/train.sh", "examples/serve.py", "verl/compute_device.py"}


def test_the_set_and_the_settings_are_told_once(tmp_path: Path) -> None:
    found = scan([written(tmp_path)], Options(cache=False)).findings
    (told,) = [one for one in found if one.code == "NPU108"]
    assert told.file == "verl/device.py"
    assert told.message == "this project is verl, which knows the NPU by itself from 0.4.0 on"
    assert "vllm-ascend" in told.advice
    assert "trainer.device=cuda is npu" in told.advice
    left = [one for one in found if one.file in ("verl/seeds.py", "tests/test_it.py", "docker/Dockerfile")]
    assert left
    assert not any(one.edits for one in left)
    assert {one.severity for one in left if "knows the NPU by itself" in one.message} == {Severity.INFO}


def test_a_program_beside_the_package_is_for_review(tmp_path: Path) -> None:
    found = scan([written(tmp_path)], Options(cache=False)).findings
    assert {one.safety for one in found if one.file == "examples/serve.py" and one.edits} == {Safety.REVIEW}


def test_its_own_side_for_cuda_does_not_block_it(tmp_path: Path) -> None:
    kernel = "import cupy\nfrom verl.device import is_npu_available\nx = cupy.zeros(2)\nprint('cuda')\n"
    written(tmp_path, verl__kernels=kernel)
    (tmp_path / "verl/kernels").rename(tmp_path / "verl/kernels.py")
    verdict = judge(scan([tmp_path], Options(cache=False)))
    assert verdict.level is Level.REVIEW
    assert "knows the NPU by itself" in verdict.summary


@pytest.mark.parametrize(
    ("setup", "name"),
    [
        ('[project]\nname = "verl"\n', "pyproject.toml"),
        ('[tool.poetry]\nname = "LLaMA_Factory"\n', "pyproject.toml"),
        ("[metadata]\nversion = 1\nname = verl\n", "setup.cfg"),
        ('from setuptools import setup\nsetup(\n    name="verl",\n)\n', "setup.py"),
    ],
)
def test_how_a_project_tells_its_name(setup: str, name: str, tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "pyproject.toml").unlink()
    (tmp_path / name).write_text(setup)
    found = scan([tmp_path], Options(cache=False)).findings
    assert any("which knows the NPU by itself" in one.message for one in found if one.code == "NPU108")


@pytest.mark.parametrize(
    "changed",
    [
        {"pyproject.toml": '[project]\nname = "mine"\n'},
        {"pyproject.toml": "[project\nname =\n"},
        {"pyproject.toml": '[project]\nname = "pytorch-lightning"\n'},
        {"verl/device.py": "NAMES = ('cuda', 'cpu')\n", "verl/seeds.py": CUDA, "examples/serve.py": CUDA},
    ],
)
def test_any_other_project_and_a_release_without_the_npu_are_edited(changed: dict[str, str], tmp_path: Path) -> None:
    written(tmp_path, **changed)
    for name, text in changed.items():
        (tmp_path / name).write_text(text)
    assert {"verl/seeds.py", "tests/test_it.py"} <= edited(tmp_path)
