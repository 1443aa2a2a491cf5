"""Portable code on a machine with CUDA: names are the same objects as before, and programs compute the same values.

Skipped where there is no CUDA device; then the same is asked of a torch that only has names (styles/test_portable_names.py).
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import npuify
from npuify.helpers import compute_device as helper
from npuify.options import Options

from ..harness import output
from ..simulator.test_examples import EXAMPLES, INFERENCE, original, tensors
from ..styles.test_portable_names import NAMES
from ..warm import free_port

if importlib.util.find_spec("torch") is None:
    pytest.skip("PyTorch is not installed", allow_module_level=True)

import torch

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]

PROGRAMS = {
    "image_classification": "train.py --epochs=2 --steps-per-epoch=4 --batch-size=16 --workers=2 --train-size=64 --val-size=32",
    "small_gpt": "train.py --steps=12 --batch-size=8 --layers=2 --width=32 --heads=2",
    "ddp_training": "train.py --config=configs/small.yaml --set=train.steps=6 --set=train.log_every=1 --set=train.save_every=6",
}
"""As on a GPU: with automatic mixed precision, workers, torch.compile, and NCCL."""

_NAMES_THERE = [
    name
    for name in NAMES
    if hasattr(torch.cuda.amp if name.startswith("torch.cuda.amp.") else torch.cuda, name.rpartition(".")[2])
]


def _values(code: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    module = types.ModuleType("compute_device")
    monkeypatch.setitem(sys.modules, "compute_device", module)
    exec(compile(helper.text(), "compute_device.py", "exec"), module.__dict__)
    space: dict[str, Any] = {}
    exec(compile(code, "program.py", "exec"), space)
    return {name: value for name, value in space.items() if name.startswith("v")}


@pytest.mark.parametrize("oldest", [">=2.1", ">=2.6", ""])
@pytest.mark.parametrize("form", ["v{number} = {name}", "from {module} import {last} as v{number}"])
def test_every_name_is_the_same_object(form: str, oldest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import torch\n" + "".join(
        form.format(number=number, name=name, module=name.rpartition(".")[0], last=name.rpartition(".")[2]) + "\n"
        for number, name in enumerate(_NAMES_THERE)
    )
    after = output(code, style="portable", torch=oldest)
    assert after != code
    assert len(_NAMES_THERE) > 60
    before, now = _values(code, monkeypatch), _values(after, monkeypatch)
    assert [name for number, name in enumerate(_NAMES_THERE) if now[f"v{number}"] != before[f"v{number}"]] == []


DEVICES = """\
import torch
rank = 0
v1 = torch.device("cuda")
v2 = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
v3 = torch.device(f"cuda:{rank}")
v4 = torch.zeros(2, device="cuda").device
v5 = torch.zeros(2).cuda().device
v6 = torch.zeros(2).to("cuda:0").is_cuda
v7 = torch.cuda.current_device()
v8 = torch.cuda.device_count()
v9 = torch.cuda.get_device_name(0)
v10 = torch.cuda.get_device_capability()[0] >= 7
v11 = type(torch.amp.GradScaler())
v12 = torch.Generator(device="cuda").device
with torch.cuda.device(0):
    v13 = torch.empty(1, device="cuda").device
with torch.autocast("cuda", dtype=torch.float16):
    v14 = (torch.ones(2, 2).cuda() @ torch.ones(2, 2).cuda()).dtype
with torch.cuda.amp.autocast():
    v15 = (torch.ones(2, 2).cuda() @ torch.ones(2, 2).cuda()).dtype
v16 = torch.cuda.FloatTensor(3).device
v17 = torch.nn.Linear(2, 2).cuda().weight.device.type == "cuda"
v18 = torch.cuda.is_bf16_supported()
"""


def test_devices_and_types_are_what_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    after = output(DEVICES, style="portable")
    assert after.count("cuda") < DEVICES.count("cuda") / 3
    assert _values(after, monkeypatch) == _values(DEVICES, monkeypatch)


def _run(folder: Path, *arguments: str) -> str:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("NPUIFY_")},
        "RANK": "0",
        "LOCAL_RANK": "0",
        "WORLD_SIZE": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
        "PYTHONWARNINGS": "ignore",
    }
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def _portable(name: str, folder: Path) -> Path:
    npuify.migrate(EXAMPLES / name, folder, Options(unsafe=True, jobs=1, cache=False, style="portable"))
    return folder


def _apart(one: Path, other: Path) -> float:
    """The largest difference of two runs' saved tensors; two runs of one program differ, too, where atomics add up."""
    left, right = tensors(one), tensors(other)
    assert left.keys() == right.keys()
    assert left
    return max(float((value - right[place]).abs().max()) for place, value in left.items() if value.numel())  # type: ignore[attr-defined, index]


@pytest.mark.parametrize("name", PROGRAMS)
def test_examples_end_with_the_same_weights(name: str, tmp_path: Path) -> None:
    before, again = original(name, tmp_path / "before"), original(name, tmp_path / "again")
    after = _portable(name, tmp_path / "after")
    for folder in (before, again, after):
        said = _run(folder, *PROGRAMS[name].split())
        assert "cuda" in said.lower() or torch.cuda.get_device_name() in said
    assert _apart(after, before) <= 10 * _apart(again, before)


def test_inference_says_the_same(tmp_path: Path) -> None:
    before, after = original("inference", tmp_path / "before"), _portable("inference", tmp_path / "after")
    script, *arguments = INFERENCE[1]
    for half in ([], ["--half"]):
        said = []
        for folder in (before, after):
            _run(folder, INFERENCE[0][0], *INFERENCE[0][1:])
            lines = _run(folder, script, *arguments, *half).splitlines()
            said.append([line for line in lines if "GiB free" not in line and " ms" not in line])
        assert said[0] == said[1]
        assert said[0]
