"""Each patch of ``npuify run``: with it a line of CUDA does what it says, and without it the same line does not.

The lines are asked in two processes, one with all patches and one with none but the release's own transfer_to_npu; so each
test can fail, and each patch is shown to be needed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from npuify.run.patches import PATCHES
from tests.warm import Program

from .conftest import environment, needs_simulation, npuify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.warm import Warm

LINES: dict[str, dict[str, str]] = {
    "devices": {
        'torch.device("cuda:0") == x.device': "True",
        'torch.device("cuda", 1)': "device(type='npu', index=1)",
        'torch.device(type="cuda")': "device(type='npu')",
        "isinstance(x.device, torch.device) and type(x.device) == torch.device": "True",
        'pickle.loads(pickle.dumps(torch.device("cuda:1")))': "device(type='npu', index=1)",
        'torch.nn.Linear(2, 2, device=torch.device("cuda")).weight.is_cuda': "True",
        "torch.load(io.BytesIO(kept_device), weights_only=True)": "device(type='npu', index=1)",
    },
    "device-words": {
        'x.device.type == "cuda"': "True",
        '"cuda" != x.device.type': "False",
        'x.device.type in ("cuda", "xpu")': "True",
        '{"cpu": 1, "cuda": 2}[x.device.type]': "2",
        'str(x.device).startswith("cuda") and "cuda" in str(x.device)': "True",
        'str(x.device).split(":")[0] == "cuda"': "True",
        'f"{x.device}" == "cuda:0"': "True",
    },
    "backend-words": {
        'group() == "nccl"': "True",
        'group().upper() == "NCCL"': "True",
        "str.__str__(group())": "'hccl'",
    },
    "cuda-method": {
        'cpu.cuda("cuda:1").device.index': "1",
        'cpu.cuda(torch.device("cuda:1"), non_blocking=True).device.index': "1",
        'cpu.cuda(device="cuda").device.index': "0",
        "cpu.cuda(1).device.index": "1",
        'linear().cuda(torch.device("cuda", 1)).weight.device.index': "1",
    },
    "paths": {'torch.load("cuda_runs/nccl.pt", "cuda").device.index': "0"},
    "checkpoints": {
        'torch.load("made_on_cuda.pt").device': "device(type='npu', index=1)",
        'torch.load("made_on_cuda.pt", map_location={"cuda:1": "cuda:2"}).device.index': "2",
        'torch.load("made_on_cuda.pt", {"cuda:1": "cpu"}).device.type': "'cpu'",
    },
    "capability": {
        "torch.cuda.get_device_capability() >= (8, 0)": "False",
        "torch.cuda.get_device_properties(0).major >= 7": "False",
        "torch.cuda.get_device_properties(0).total_memory > 0": "True",
        "torch.cuda.get_device_properties().name": "'Ascend910B1'",
    },
    "versions": {
        'torch.version.cuda.split(".")': "['0', '0']",
        "torch.cuda.nccl.version() >= (2, 10)": "False",
        "torch.backends.cudnn.version() >= 7603": "False",
    },
    "tensor-types": {
        'cpu.type("torch.cuda.FloatTensor").is_cuda': "True",
        "cpu.type(torch.cuda.HalfTensor).dtype": "torch.float16",
        "isinstance(x, torch.cuda.FloatTensor), isinstance(cpu, torch.cuda.FloatTensor)": "(True, False)",
        'x.type() == "torch.cuda.FloatTensor"': "True",
        "torch.cuda.LongTensor([1, 2]).tolist()": "[1, 2]",
        'default_type("torch.cuda.HalfTensor")': "(True, torch.float16)",
        'default_type("torch.FloatTensor")': "(False, torch.float32)",
    },
    "storages": {
        "x.untyped_storage().is_cuda, cpu.untyped_storage().is_cuda": "(True, False)",
        'cpu.untyped_storage().cuda("cuda:1").device.index': "1",
    },
    "submodules": {
        "isinstance(torch.cuda.streams.Stream(), torch.cuda.Stream)": "True",
        'torch.cuda._utils._get_device_index(torch.device("cuda:1"))': "1",
    },
    "scaler": {'torch.amp.GradScaler("cuda")._device': "'npu'"},
    "nvtx": {
        'torch.cuda.nvtx.range_push("a"), torch.cuda.nvtx.range_pop(), torch.cuda.nvtx.range_pop()': "(0, 0, -1)",
        'ranged(torch.cuda.nvtx.range("b"))': "True",
    },
    "jit": {
        'saved(torch.jit.script(linear()), "script.pt")': "True",
        "torch.jit.freeze(torch.jit.script(linear().eval())).training": "False",
    },
    "out-of-memory": {'"CUDA out of memory" in too_much()': "True"},
    "data-parallel": {
        "torch.nn.DataParallel(linear().cuda())(torch.ones(4, 2)).is_cuda": "True",
        "torch.nn.DataParallel(linear().cuda()).device_ids": "[0]",
    },
    "environment": {
        'os.environ["ASCEND_LAUNCH_BLOCKING"]': "'1'",
        'setenv("CUDA_VISIBLE_DEVICES", "2, 1", "ASCEND_RT_VISIBLE_DEVICES")': "'1,2'",
        'setenv("PYTORCH_CUDA_ALLOC_CONF", "backend:native,expandable_segments:True", "PYTORCH_NPU_ALLOC_CONF")': (
            "'expandable_segments:True'"
        ),
    },
    "warnings": {"any(row[0] == 'once' and row[2] is Warning for row in warnings.filters)": "False"},
}
"""Patch → a line of CUDA, and what it gives with the patch."""
SAME = (
    'default_type("torch.FloatTensor")',
    "cpu.cuda(1).device.index",
    'os.environ["ASCEND_LAUNCH_BLOCKING"]',
    "torch.cuda.get_device_properties(0).total_memory > 0",
    "isinstance(x.device, torch.device)",
    "torch.cuda.LongTensor([1, 2]).tolist()",
    "str.__str__(group())",
    "torch.cuda._utils",
    "cpu.cuda(device=",
    "torch.nn.Linear(2, 2, device=",
    "torch.jit.freeze",
    "linear().cuda(torch.device",
    "torch.cuda.get_device_properties().name",
    "cpu.type(torch.cuda.HalfTensor)",
    "isinstance(x, torch.cuda.FloatTensor)",
)
"""Beginnings of lines that give the same without the patch, and are here to stay so with it."""

ASKING = """
import io, json, os, pickle, sys, warnings

with open("lines.json") as file:
    lines = json.load(file)

import torch
import torch.cuda.nccl

cpu = torch.ones(2)
x = cpu.cuda()
buffer = io.BytesIO()
kept_device = None
try:
    torch.save(torch.device("cuda:1"), buffer)
    kept_device = buffer.getvalue()
except Exception:
    pass
linear = lambda: torch.nn.Linear(2, 2)

def group():
    if not torch.distributed.is_initialized():
        store = torch.distributed.HashStore()
        torch.distributed.init_process_group("nccl", store=store, rank=0, world_size=1)
    return torch.distributed.get_backend()

def default_type(name):
    torch.set_default_tensor_type(name)
    found = torch.zeros(1)
    return found.is_cuda, found.dtype

def ranged(context):
    with context:
        return True

def saved(module, file):
    module.save(file)
    return hasattr(torch.jit.load(file), "code")

def too_much():
    try:
        torch.empty(1 << 45, dtype=torch.uint8, device="cuda")
    except torch.cuda.OutOfMemoryError as error:
        return str(error)

def setenv(cuda, value, npu):
    os.environ[cuda] = value
    return os.environ[npu]

answers = {}
for line in lines:
    try:
        answers[line] = repr(eval(line))
    except Exception as error:
        answers[line] = type(error).__name__ + ": " + str(error)[:200]
with open(sys.argv[1], "w") as file:
    json.dump(answers, file)
"""


MAKE = """
import torch
torch.save(torch.ones(2), "cuda_runs/nccl.pt")
torch.serialization.register_package(1, lambda s: "cuda:1", lambda s, l: None)
torch.save(torch.ones(2), "made_on_cuda.pt")
"""
"""Files as a machine with CUDA writes them: the tag of the storage is all that differs."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory, on_cpu: Warm) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """What the lines give with all patches, and with transfer_to_npu alone."""
    needs_simulation()
    folder = tmp_path_factory.mktemp("patches")
    (folder / "program.py").write_text(ASKING)
    (folder / "cuda_runs").mkdir()
    (folder / "lines.json").write_text(json.dumps([line for lines in LINES.values() for line in lines]))
    (folder / "make.py").write_text(MAKE)
    (made,) = on_cpu.run(Program(["make.py"], folder))
    assert made.returncode == 0, made.stderr
    env = {**environment(), "CUDA_LAUNCH_BLOCKING": "1"}
    alone = ",".join(patch.name for patch in PATCHES if patch.name != "transfer")
    found = []
    for options in ([], ["--disable", alone]):
        done = npuify("run", "--device", "simulated", *options, "program.py", "answers.json", folder=folder, env=env)
        assert done.returncode == 0, done.stderr
        assert "could not be put in place" not in done.stderr
        found.append(json.loads((folder / "answers.json").read_text()))
    yield found[0], found[1]


@pytest.mark.parametrize(("patch", "line"), [(patch, line) for patch, lines in LINES.items() for line in lines])
def test_with_and_without(answers: tuple[dict[str, str], dict[str, str]], patch: str, line: str) -> None:
    assert answers[0][line] == LINES[patch][line]
    if not line.startswith(SAME):
        assert answers[1][line] != LINES[patch][line], f"{patch} is not needed for this line"


def test_each_patch_is_tested() -> None:
    elsewhere = {"notes", "transfer", "library-checks", "early-names"}
    assert {patch.name for patch in PATCHES} == set(LINES) | elsewhere


def test_a_check_of_a_library_that_raises_leaves_cuda_available(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    from npuify.run.patches.library_checks import careful

    def check() -> None:
        torch.cuda.is_available = lambda: (
            False
        )  # as the wrapper of transfer_to_npu does it, which does not undo it then
        raise ValueError

    before = torch.cuda.is_available
    monkeypatch.setattr(torch.cuda, "is_available", before)
    with pytest.raises(ValueError):
        careful(check)()
    assert torch.cuda.is_available is before


def test_the_modules_of_patches_exist() -> None:
    folder = Path(os.fspath(__import__("npuify.run.patches", fromlist=["x"]).__path__[0]))
    assert {patch.module for patch in PATCHES if patch.module} == {
        file.stem for file in folder.glob("*.py") if file.stem != "__init__"
    }
