"""Programs that name the NPU, or NVIDIA's profiler, themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.engine.scan import scan
from npuify.model import Severity
from npuify.options import Options

from ...harness import findings, output

if TYPE_CHECKING:
    from pathlib import Path

_OLD = "2.1.0.post17"


@pytest.mark.parametrize(
    "text", ["import torch\ntorch.npu.set_device(0)\n", "import torch as t\nt.npu.synchronize()\n"]
)
def test_torch_npu_is_imported_where_an_old_torch_needs_it(text: str) -> None:
    first, _, rest = text.partition("\n")
    assert output(text, release=_OLD) == f"{first}\nimport torch_npu  # noqa: F401\n{rest}"
    assert output(text) == text
    assert output(output(text, release=_OLD), release=_OLD) == output(text, release=_OLD)


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nimport torch_npu\ntorch.npu.set_device(0)\n",
        "import torch\nif hasattr(torch, 'npu'):\n    torch.npu.set_device(0)\n",
        "import torch\ntry:\n    torch.npu.set_device(0)\nexcept AttributeError:\n    pass\n",
        "import torch\nfrom mine import nets\nnets.npu.set_device(0)  # torch.npu.set_device\n",
        "import torch\nprint('torch.npu.set_device')\n",
    ],
)
def test_torch_npu_is_not_imported_again(text: str) -> None:
    assert output(text, release=_OLD) == text


def test_another_file_may_import_torch_npu(tmp_path: Path) -> None:
    text = "import torch\ntorch.npu.set_device(0)\n"
    (tmp_path / "train.py").write_text(text)
    assert output(text, release=_OLD, root=tmp_path, name="train.py") != text
    (tmp_path / "start.py").write_text("import torch_npu\nimport train\n")
    assert output(text, release=_OLD, root=tmp_path, name="train.py") == text


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("import torch\nwith torch.autograd.profiler.emit_nvtx():\n    pass\n", Severity.ERROR),
        (
            "from torch.autograd import profiler\nwith profiler.emit_nvtx(record_shapes=True):\n    pass\n",
            Severity.ERROR,
        ),
        ("from torch.autograd.profiler import emit_nvtx as marks\nwith marks(wanted):\n    pass\n", Severity.WARNING),
        ("import torch\nwith torch.autograd.profiler.emit_nvtx(enabled=False):\n    pass\n", None),
        ("import torch\nfrom mine import emit_nvtx\nwith emit_nvtx():\n    pass\n", None),
        ("import torch\nwith torch.autograd.profiler.emit_itt():\n    pass\n", None),
    ],
)
def test_marks_for_nvidias_profiler(text: str, severity: Severity | None) -> None:
    found = [item.severity for item in findings(text) if item.code == "NPU161"]
    assert found == ([] if severity is None else [severity])


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("nvml = ctypes.CDLL('libnvidia-ml.so.1')", True),
        ("nvml = CDLL('libnvidia-ml.so.1')", True),
        ("nvml = ctypes.cdll.LoadLibrary('libnvidia-ml.so')", True),
        ("print('libnvidia-ml.so.1 is missing')", False),
        ("print('libnvidia-ml.so.1')", False),
        ("other = ctypes.CDLL('libc.so.6')  # not libnvidia-ml", False),
    ],
)
def test_a_copy_of_nvml(line: str, told: bool) -> None:
    text = f"import ctypes\nfrom ctypes import CDLL\n{line}\n"
    assert [item.code for item in findings(text) if item.code == "NPU139"] == (["NPU139"] if told else [])


def test_a_copy_of_nvml_in_a_file_without_torch(tmp_path: Path) -> None:
    (tmp_path / "nv.py").write_text("import ctypes\n\ndef start():\n    return ctypes.CDLL('libnvidia-ml.so.1')\n")
    (tmp_path / "run.py").write_text("import torch\nimport nv\nnv.start()\nx = torch.ones(1).cuda()\n")
    assert ("nv.py", "NPU139") in {(one.file, one.code) for one in scan([tmp_path], Options()).findings}


def test_imports_of_modules_that_need_no_cuda_are_notes() -> None:
    text = "import torch.cuda.comm\nfrom torch.cuda import comm, nccl\n\ndef f(x):\n    return comm.gather(x)\n"
    told = [(one.code, one.start.line, one.severity.value) for one in findings(text)]
    assert told == [("NPU107", 1, "info"), ("NPU102", 2, "info"), ("NPU102", 2, "info"), ("NPU102", 5, "error")]


def test_a_check_that_only_imports_the_projects_cuda_extension_stays(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text(
        "from torch.utils.cpp_extension import CUDA_HOME, CppExtension, CUDAExtension\n"
        'modules = [CppExtension("own.cpu", ["a.cpp"])]\n'
        'modules += [CUDAExtension("own.gpu", ["a.cu"])] if CUDA_HOME is not None else []\n'
    )
    (tmp_path / "own").mkdir()
    (tmp_path / "own/__init__.py").write_text("")
    (tmp_path / "own/more.py").write_text("")
    (tmp_path / "own/functions.py").write_text(
        "import torch\nfrom own import cpu\nif torch.cuda.device_count() > 0:\n    from own import gpu\n"
        "if torch.cuda.device_count() > 0:\n    from own import more\n"
    )
    result = scan([tmp_path], Options(jobs=1, cache=False))
    found = [one for one in result.findings if one.file == "own/functions.py" and one.code == "NPU101"]
    assert [(one.start.line, bool(one.edits), one.severity) for one in found] == [
        (3, False, Severity.WARNING),
        (5, True, Severity.ERROR),
    ]
