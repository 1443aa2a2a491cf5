"""The generator on small wheels made for the test: what it must see, and what it must not invent."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from npuify.knowledge.generate import generate
from npuify.knowledge.release.table import ReleaseTable, read_release_file
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from pathlib import Path

TORCH = {
    "torch/__init__.py": "from torch import cuda",
    "torch/version.py": "__version__ = '9.1.0'",
    "torch/_C/__init__.pyi": """
class _CudaEventBase:
    cuda_event: int
    def query(self) -> bool: ...
class _CudaDeviceProperties:
    major: int
def _cuda_setDevice(device: int) -> None: ...
def unrelated() -> None: ...
""",
    "torch/cuda/__init__.py": """
import os
import torch._C
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from .missing import Ghost
from .streams import Event
from .memory import *
from .memory import _private as renamed
from . import amp
__all__ = ["Event", "FloatTensor", "empty_cache"]
_helper_state = 1
class Old: pass
del Old
try:
    from torch._C import _cudart
except ImportError:
    _cudart = None
def device_count(a, /, b: int = 1, *args, c=None, d, **kwargs) -> int: ...
if hasattr(torch._C, "x"):
    def either(): ...
else:
    def either(more): ...
def _lazy_init(): ...
has_half = True
""",
    "torch/cuda/streams.py": """
import torch
class Event(torch._C._CudaEventBase):
    def __new__(cls, enable_timing=False): ...
    def elapsed_time(self, end_event): ...
    @property
    def when(self): ...
    @staticmethod
    def of(device): ...
    def _hidden(self): ...
""",
    "torch/cuda/memory.py": """
from dataclasses import dataclass
__all__ = ["empty_cache", "Record"]
def empty_cache(limit=%s): ...
def not_exported(): ...
def _private(): ...
@dataclass
class Record:
    size: int
    stream: int = 0
"""
    % ("'" + "x" * 60 + "'"),
    "torch/cuda/amp/__init__.py": "from .autocast_mode import autocast",
    "torch/cuda/amp/autocast_mode.py": "class autocast:\n    def __init__(self, enabled=True): ...",
    "torch/backends/__init__.py": "class PropModule: ...",
    "torch/backends/cudnn/__init__.py": """
import sys
class CudnnModule:
    benchmark = object()
sys.modules[__name__] = CudnnModule(sys.modules[__name__], __name__)
""",
    "torch/backends/cuda/__init__.py": """
class cuBLASModule:
    def __getattr__(self, name):
        if name == "allow_tf32":
            return True
        raise AttributeError(name)
matmul = cuBLASModule()
""",
    "torch/utils/backend_registration.py": """
def generate_methods_for_privateuse1_backend(for_tensor=True, for_module=True, for_storage=False): ...
""",
}

YAML = """backend: NPU
supported:
  - add.Tensor
  - add.out
  - func: clone
    op_api: True

custom:
- device_check: NoCheck
  func: npu_op(Tensor x, *, float p=0.5,
    int[2]? q=None) -> (Tensor, Tensor)
- func: npu_op.other(Tensor x) -> Tensor
"""

NPU = {
    "torch_npu/__init__.py": """
import torch
import torch_npu.npu
from torch_npu._init import start
start()
torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
""",
    "torch_npu/_init/__init__.py": """
import torch
def start():
    import torch_npu.late
    torch.version.cann = 1
def never_called():
    torch.version.nothing = 1
""",
    "torch_npu/late.py": "import torch_npu\nclass _Kind:\n    A = 1\ntorch_npu.Kind = _Kind",
    "torch_npu/not_loaded.py": "import torch\ntorch.cuda.unseen = 1",
    "torch_npu/npu/__init__.py": """
import torch_npu
from .streams import Event
from .mark import mark
from .config import *
matmul = config._Matmul()
__all__ = ["Event", "FloatTensor", "Ghost"]
def device_count(): ...
def __getattr__(name):
    if name == "lazy":
        import torch_npu.npu.lazy
    raise AttributeError(name)
""",
    "torch_npu/npu/streams.py": """
import torch_npu._C
class Event(torch_npu._C._NPUEventBase):
    def __new__(cls, enable_timing=False): ...
    def elapsed_time(self, end_event): ...
print(torch_npu._C._npu_used)
""",
    "torch_npu/npu/mark.py": "class mark:\n    @staticmethod\n    def push(message): ...\nmark.extra = 1",
    "torch_npu/npu/config.py": """
class _Matmul:
    def __setattr__(self, name, value):
        if name == "allow_hf32":
            pass
def public(): ...
""",
    "torch_npu/npu/lazy.py": "x = 1",
    "torch_npu/npu/alone.py": "def only_by_import(): ...",
    "torch_npu/contrib/__init__.py": "",
    "torch_npu/contrib/transfer_to_npu.py": """
import torch
names = ["rand", "zeros"]
def _device_wrapper(owner, names): ...
def _patch():
    patchs = [["cuda.amp", torch_npu.npu.amp]]
    _device_wrapper(torch, names)
    _device_wrapper(torch.cuda, ["set_device"])
    torch.Tensor.cuda = torch.Tensor.npu
""",
    "torch_npu/contrib/apis_config.json": '{"lib": {"version": "1", "apis": {"lib.f": "function"}}}',
    "torch_npu/csrc/aten/npu_native_functions.yaml": YAML,
    "torch_npu/lib/libtorch_npu.so": b"\0npu_event\0xx_npu_getDevice\0\0_npu_setDevice\0name\0total_memory\0major\0",
}


def _wheel(folder: Path, project: str, version: str, files: dict[str, Any], requires: str = "") -> None:
    name = f"{project}-{version}-cp310-cp310-manylinux2014_aarch64.whl"
    metadata = f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n{requires}\n"
    with zipfile.ZipFile(folder / name, "w") as archive:
        for path, text in {**files, f"{project}-{version}.dist-info/METADATA": metadata}.items():
            archive.writestr(path, text)


@pytest.fixture(name="table")
def _table(tmp_path: Path) -> ReleaseTable:
    _wheel(tmp_path, "torch", "9.1.0", TORCH)
    _wheel(tmp_path, "torch_npu", "9.1.0.post3", NPU, "Requires-Dist: torch==9.1.0\n")
    path = generate("9.1.0.post3", wheels=tmp_path, output=tmp_path / "out")
    assert path == tmp_path / "out" / "9.1.0.post3.json"
    return ReleaseTable(read_release_file(path))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("torch.cuda.device_count", "(a,/,b=1,*args,c=None,d,**kwargs)"),
        ("torch.cuda.Event", "(enable_timing=False)"),
        ("torch.cuda.Event.elapsed_time", "(end_event)"),
        ("torch.cuda.Event.of", "(device)"),
        ("torch.cuda.Event.when", ""),
        ("torch.cuda.Event.cuda_event", ""),
        ("torch.cuda.Event.query", "()"),
        ("torch.cuda.empty_cache", "(limit=...)"),
        ("torch.cuda.Record", "(size,stream=0)"),
        ("torch.cuda.amp.autocast", "(enabled=True)"),
        ("torch.cuda.FloatTensor", ""),
        ("torch.cuda._lazy_init", "()"),
        ("torch.cuda.renamed", "()"),
        ("torch.cuda.has_half", ""),
        ("torch.cuda._cudart", ""),
        ("torch.backends.cudnn.benchmark", ""),
        ("torch.backends.cuda.matmul.allow_tf32", ""),
        ("torch._C._cuda_setDevice", "(device)"),
        ("torch._C._CudaDeviceProperties.major", ""),
        ("torch.npu.Event", "(enable_timing=False)"),
        ("torch.npu.mark.push", "(message)"),
        ("torch.npu.matmul.allow_hf32", ""),
        ("torch.npu.public", "()"),
    ],
)
def test_signatures(table: ReleaseTable, name: str, text: str) -> None:
    signature = table.signature(name)
    assert signature is not None
    assert signature.text == text


@pytest.mark.parametrize(
    "name",
    [
        "torch.cuda.Ghost",  # only while type checking
        "torch.cuda.Old",  # deleted again
        "torch.cuda.os",
        "torch.cuda.not_exported",  # left out by __all__ of a star import
        "torch.cuda._helper_state",
        "torch.cuda.Event._hidden",
        "torch._C.unrelated",
        "torch.backends.cuda.matmul.other",
    ],
)
def test_cuda_names_that_are_not_there(table: ReleaseTable, name: str) -> None:
    assert not table.has_cuda(name)


def test_npu_names(table: ReleaseTable) -> None:
    for name in (
        "torch.npu.FloatTensor",
        "torch.npu.lazy",
        "torch.npu.mark.extra",
        "torch.npu.Event.npu_event",
        "torch_npu.Kind.A",
        "torch_npu.npu_op",
        "torch.ops.npu.npu_op",
        "torch.Tensor.npu",
        "torch.UntypedStorage.is_npu",
        "torch.version.cann",
    ):
        assert table.has(name), name
    for name in (
        "torch.npu.Ghost",
        "torch.npu.alone",
        "torch.version.nothing",
        "torch.cuda.unseen",
        "torch.npu.config.x",
    ):
        assert not table.has(name), name
    assert table.importable("torch_npu.npu.alone.only_by_import")
    assert table.importable("torch_npu._C._npu_used")
    assert table.importable("torch_npu._C._npu_setDevice")
    assert not table.importable("torch_npu._C._npu_getDevice"), "it is the end of a longer word"
    # "major" is there, but not the rarer member that has to accompany it
    assert not table.importable("torch_npu._C._NPUDeviceProperties.major")
    assert table.importable("torch_npu._C._NPUDeviceProperties.total_memory")


def test_operators(table: ReleaseTable) -> None:
    assert table.operators == {"add": ("Tensor", "out"), "clone": ("",)}
    assert table.custom_operators["npu_op"] == [
        "(Tensor x, *, float p=0.5, int[2]? q=None) -> (Tensor, Tensor)",
        ".other(Tensor x) -> Tensor",
    ]
    signature = table.signature("torch_npu.npu_op")
    assert signature is not None
    assert [(p.name, p.kind, p.default) for p in signature.parameters or ()] == [
        ("x", "both", None),
        ("p", "keyword", "0.5"),
        ("q", "keyword", "None"),
    ]


def test_transfer_patches(table: ReleaseTable) -> None:
    assert table.transfer_patches == (
        "lib.f",
        "torch.Tensor.cuda",
        "torch.cuda.amp",
        "torch.cuda.set_device",
        "torch.rand",
        "torch.zeros",
    )


def test_the_same_wheels_give_the_same_bytes(tmp_path: Path) -> None:
    _wheel(tmp_path, "torch", "9.1.0", TORCH)
    _wheel(tmp_path, "torch_npu", "9.1.0", NPU)  # early releases do not name the torch they need
    first = generate("9.1.0", wheels=tmp_path, output=tmp_path / "a").read_bytes()
    assert generate("9.1.0", wheels=tmp_path, output=tmp_path / "b").read_bytes() == first
    assert first.isascii()
    json.loads(first)


def test_wheels_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(NpuifyError, match=r"no wheel of torch-npu 9\.1\.0") as caught:
        generate("9.1.0", wheels=tmp_path, output=tmp_path)
    assert caught.value.file == str(tmp_path)
    _wheel(tmp_path, "torch_npu", "9.1.0", NPU)
    with pytest.raises(NpuifyError, match=r"no wheel of torch 9\.1\.0"):
        generate("9.1.0", wheels=tmp_path, output=tmp_path)


def test_a_broken_wheel_is_named(tmp_path: Path) -> None:
    path = tmp_path / "torch_npu-9.1.0-cp310-cp310-manylinux2014_aarch64.whl"
    path.write_bytes(b"not a zip file")
    with pytest.raises(NpuifyError, match="not a readable wheel") as caught:
        generate("9.1.0", wheels=tmp_path, output=tmp_path)
    assert caught.value.file == str(path)


def test_a_wheel_without_operators_is_refused(tmp_path: Path) -> None:
    _wheel(tmp_path, "torch", "9.1.0", TORCH)
    _wheel(tmp_path, "torch_npu", "9.1.0", {k: v for k, v in NPU.items() if not k.endswith(".yaml")})
    with pytest.raises(NpuifyError, match="lists no operators"):
        generate("9.1.0", wheels=tmp_path, output=tmp_path)
    assert not (tmp_path / "9.1.0.json").exists()
