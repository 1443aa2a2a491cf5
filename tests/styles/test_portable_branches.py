"""Portable branches: CUDA calls what it called before, and an NPU never meets what only CUDA has."""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any

import pytest

from npuify.helpers import compute_device as helper
from npuify.options import Options
from npuify.rewrite.plan import plan

from ..harness import migrated, output
from .stand_in import Name, machine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CUDA_ONLY = (
    *("flash_attn", "xformers", "xformers.ops", "apex", "apex.amp", "apex.optimizers", "apex.normalization"),
    "apex.parallel",
)


@pytest.fixture(autouse=True)
def _no_cuda_only_modules_stay() -> Iterator[None]:
    yield
    for name in CUDA_ONLY:
        sys.modules.pop(name, None)


def run(code: str, kind: str) -> dict[str, Any]:
    """The names beginning with ``v`` after running ``code`` where CUDA's libraries are there on CUDA only."""
    with machine(kind) as modules:
        torch: Any = modules["torch"]
        torch.nn, torch.profiler = Name("torch.nn"), Name("torch.profiler")
        for module in (torch.nn, torch.nn.parallel, torch.optim, torch.profiler):
            sys.modules[module.__name__] = module
        if kind == "npu":
            sys.modules["torch_npu.profiler"] = sys.modules["torch_npu"].profiler
        for name in CUDA_ONLY:
            sys.modules[name] = Name(name) if kind == "cuda" else None  # type: ignore[assignment]
        device = types.ModuleType("compute_device")
        sys.modules["compute_device"] = device
        exec(compile(helper.text(), "compute_device.py", "exec"), device.__dict__)
        space: dict[str, Any] = {}
        exec(compile(code, "program.py", "exec"), space)
        return {name: getattr(value, "__name__", value) for name, value in space.items() if name.startswith("v")}


LIBRARIES = """\
import torch
import apex
import xformers.ops as xops
from apex.normalization import FusedLayerNorm
from apex.optimizers import FusedAdam, FusedSGD
from apex.parallel import DistributedDataParallel as DDP
from flash_attn import (
    flash_attn_func,  # the plain one
    flash_attn_varlen_func,
)
from torch.profiler import ProfilerActivity, profile


class Queries:
    shape = (1, 2, 3, 4)
    __name__ = "q"


q = Queries()
v1 = flash_attn_func(q, q, q, dropout_p=0.5)
v2 = xops.memory_efficient_attention(q, q, q)
v3 = FusedAdam("parameters", lr=0.1)
v4 = FusedSGD("parameters", lr=0.1)
v5 = FusedLayerNorm(8)
v6 = apex.normalization.FusedLayerNorm(8)
v7 = DDP("model", delay_allreduce=True)
v8 = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
v9 = FusedLayerNorm
"""


def test_on_cuda_every_call_is_what_it_was() -> None:
    after = output(LIBRARIES, style="portable", unsafe=True)
    assert after != LIBRARIES
    before, now = run(LIBRARIES, "cuda"), run(after, "cuda")
    assert str(now) == str(before)
    assert now["v1"][0] == "flash_attn.flash_attn_func"


def test_on_an_npu_nothing_of_cuda_is_imported() -> None:
    got = run(output(LIBRARIES, style="portable", unsafe=True), "npu")
    assert got["v1"] == got["v2"] == "torch_npu.npu_fusion_attention"  # the stand-in gives the name first
    assert got["v3"] == ("torch.optim.AdamW", "parameters", ("lr", 0.1), ("weight_decay", 0.0))
    assert got["v4"] == ("torch.optim.SGD", "parameters", ("lr", 0.1))
    assert got["v5"] == got["v6"] == ("torch.nn.LayerNorm", 8)
    as_apex = (("broadcast_buffers", False), ("find_unused_parameters", True))
    assert got["v7"] == ("torch.nn.parallel.DistributedDataParallel", "model", *as_apex)
    assert got["v8"][0] == "torch_npu.profiler.profile"
    assert [item.__name__ for item in got["v8"][1][1]] == [
        "torch_npu.profiler.ProfilerActivity.CPU",
        "torch_npu.profiler.ProfilerActivity.NPU",
    ]
    assert got["v9"] == "torch.nn.LayerNorm"


def test_without_unsafe_only_what_is_proven_gets_a_branch() -> None:
    after = output(LIBRARIES, style="portable")
    assert "else flash_attn_func(q, q, q, dropout_p=0.5)" in after
    assert "\nv3 = FusedAdam(" in after
    assert "\nfrom apex.optimizers import" in after


def test_a_library_missing_on_cuda_is_still_told_at_the_import() -> None:
    text = "from flash_attn import flash_attn_func\n\ndef f(q):\n    return flash_attn_func(q, q, q)\n"
    after = output(text, style="portable")
    assert 'if compute_device.type != "npu":\n    from flash_attn' in after
    with machine("cuda"), pytest.raises(ImportError):
        sys.modules["flash_attn"] = None  # type: ignore[assignment]
        module = types.ModuleType("compute_device")
        sys.modules["compute_device"] = module
        exec(compile(helper.text(), "compute_device.py", "exec"), module.__dict__)
        exec(compile(after, "program.py", "exec"), {})


NESTED = """\
import torch
from apex.parallel import DistributedDataParallel, convert_syncbn_model

def wrap(net):
    return DistributedDataParallel(convert_syncbn_model(net.cuda()), delay_allreduce=True)
"""


def test_code_for_the_npu_is_itself_migrated_and_code_for_cuda_is_not() -> None:
    after = output(NESTED, style="portable", unsafe=True)
    npu, _, cuda = after.partition('if compute_device.type == "npu"')
    assert "convert_sync_batchnorm(net.to(compute_device.type))" in npu.partition("def wrap")[2]
    assert "DistributedDataParallel(convert_syncbn_model(net.cuda()), delay_allreduce=True)" in cuda


UNCHANGED = {
    "the program goes on without the library": "import torch\ntry:\n    from flash_attn import flash_attn_func\n"
    "except ImportError:\n    flash_attn_func = None\n\ndef f(q):\n    if flash_attn_func is None:\n        return q\n"
    "    return flash_attn_func(q, q, q)\n",
    "a call without equivalent": "import torch\nfrom flash_attn import flash_attn_func\n\ndef f(q):\n"
    "    return flash_attn_func(q, q, q, softcap=30.0)\n",
    "a person has written the branch": "import torch\nimport compute_device\nif compute_device.type != 'npu':\n"
    "    from apex import amp\n\ndef f(model):\n    if compute_device.type == 'npu':\n        return model\n"
    "    else:\n        return amp.initialize(model, opt_level='O2')\n",
}


@pytest.mark.parametrize("text", UNCHANGED.values(), ids=UNCHANGED.keys())
def test_left_as_it_is(text: str) -> None:
    assert output(text, style="portable", unsafe=True) == text


def test_a_branch_that_a_person_has_written_is_not_reported(tmp_path: Path) -> None:
    (tmp_path / "compute_device.py").write_bytes(helper.text())
    (tmp_path / "program.py").write_text(UNCHANGED["a person has written the branch"])
    result, contents = plan(tmp_path, Options(jobs=1, cache=False, style="portable", unsafe=True))
    assert not contents
    assert not [item for item in result.left if item.file == "program.py"]


def test_an_import_whose_name_another_module_takes_stays(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import torch\nfrom flash_attn import flash_attn_func\n\ndef f(q):\n    return flash_attn_func(q, q, q)\n"
    )
    (tmp_path / "other.py").write_text("from program import flash_attn_func\n")
    text = (tmp_path / "program.py").read_text()
    after = output(text, style="portable", root=tmp_path)
    assert "\nfrom flash_attn import flash_attn_func" in after


PLAIN_AMP = """\
import torch
from apex import amp

def train(model, optimizer, loader):
    model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
    for batch in loader:
        loss = model(batch)
        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
        optimizer.step()
"""


class _Recorder:
    def __init__(self, log: list[str], name: str) -> None:
        self._log, self._name = log, name

    def __call__(self, *args: Any, **kwargs: Any) -> _Recorder:
        said = ",".join([*(getattr(arg, "_name", str(arg)) for arg in args), *(f"{k}={v}" for k, v in kwargs.items())])
        self._log.append(f"{self._name}({said})")
        return _Recorder(self._log, f"{self._name}()")

    def __getattr__(self, name: str) -> _Recorder:
        return _Recorder(self._log, f"{self._name}.{name}")

    def __enter__(self) -> _Recorder:
        self._log.append(f"enter {self._name}")
        return _Recorder(self._log, "inside")

    def __exit__(self, *_: object) -> None:
        self._log.append("exit")

    def __iter__(self) -> Iterator[_Recorder]:
        yield from (_Recorder(self._log, "model"), _Recorder(self._log, "optimizer"))


@pytest.mark.parametrize("kind", ["cuda", "npu"])
def test_apex_amp_on_cuda_and_autocast_on_an_npu(kind: str) -> None:
    after = output(PLAIN_AMP, style="portable", unsafe=True)
    log: list[str] = []
    device: Any = types.ModuleType("compute_device")
    device.type = kind
    device.autocast, device.GradScaler = _Recorder(log, "autocast"), _Recorder(log, "GradScaler")
    apex: Any = types.ModuleType("apex")
    apex.amp = _Recorder(log, "amp")
    with machine(kind):
        sys.modules |= {"compute_device": device, "apex": apex if kind == "cuda" else None}  # type: ignore[dict-item]
        space: dict[str, Any] = {}
        exec(compile(after, "program.py", "exec"), space)
        space["train"](_Recorder(log, "model"), _Recorder(log, "optimizer"), ["batch"])
    if kind == "npu":
        assert log == [
            "GradScaler()",
            "autocast(enabled=True)",
            "enter autocast()",
            "model(batch)",
            "exit",
            "GradScaler().scale(model())",
            "GradScaler().scale().backward()",
            "GradScaler().step(optimizer)",
            "GradScaler().update()",
        ]
    else:
        assert log == [
            "amp.initialize(model,optimizer,opt_level=O1)",
            "autocast(enabled=False)",
            "enter autocast()",
            "model(batch)",
            "exit",
            "amp.scale_loss(model(),optimizer)",
            "enter amp.scale_loss()",
            "inside.backward()",
            "exit",
            "optimizer.step()",
        ]


def test_an_import_of_apex_without_a_use_goes_on_every_device() -> None:
    text = "import torch\nfrom apex.parallel import SyncBatchNorm\nx = torch.ones(1)\n"
    assert output(text, style="portable", unsafe=True) == text.replace("from apex.parallel import SyncBatchNorm\n", "")


def test_variables_of_both_libraries_side_by_side_leave_nothing_to_say() -> None:
    text = 'import os\nimport torch\nos.environ["NCCL_SOCKET_IFNAME"] = "eth0"\nx = torch.ones(1)\n'
    done = migrated(text, style="portable")
    assert b'os.environ["HCCL_SOCKET_IFNAME"] = "eth0"' in (done.raw or b"")
    assert b'os.environ["NCCL_SOCKET_IFNAME"] = "eth0"' in (done.raw or b"")
    assert not done.left


def test_settings_in_the_syntax_of_python_import_nothing() -> None:
    """mmcv copies the file elsewhere before it imports it, and takes every name in it for a setting."""
    text = "checkpoint_config = dict(interval=1)\ndist_params = dict(backend='nccl')\n"
    done = migrated(text, style="portable", name="configs/_base_/default_runtime.py")
    assert done.raw is None
    (left,) = done.left
    assert left.code == "NPU301"
    assert "set the value where the program starts" in left.advice or "settings" in left.message
    assert "hccl" in output(text, style="npu", name="configs/_base_/default_runtime.py")
    program = "import torch.distributed as dist\ndist.init_process_group('nccl')\n"
    assert "compute_device" in output(program, style="portable", name="configs/setup_group.py")


def test_a_value_that_may_not_be_worked_out_twice_is_taken_from_the_other_variable() -> None:
    text = 'import os\nos.environ["CUDA_VISIBLE_DEVICES"] = pick()\n'
    after = text + 'os.environ["ASCEND_RT_VISIBLE_DEVICES"] = os.environ["CUDA_VISIBLE_DEVICES"]\n'
    assert output(text, style="portable") == after
    assert output(after, style="portable") == after
