"""Which imports are told of, how loudly, and that the table names only things that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from npuify import knowledge
from npuify.engine.scan import scan
from npuify.knowledge.hand_written import DATA, read_rows
from npuify.knowledge.schema import PackageFact
from npuify.model import NpuifyError, Safety
from npuify.options import Options

from ...harness import RELEASE, findings

CASES = Path(__file__).parents[2] / "cases" / "NPU620"


def _told(text: str, root: Path | None = None, name: str = "program.py") -> list[tuple[str, str]]:
    found = findings(text, root=root, name=name)
    assert all(item.safety is Safety.MANUAL and item.advice for item in found if item.code == "NPU620")
    return [(item.subject, item.severity.value) for item in found if item.code == "NPU620"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import xformers\n", [("xformers", "error")]),
        ("import xformers.ops as xops\n", [("xformers.ops", "error")]),
        ("from nvidia.dali import pipeline_def\n", [("nvidia.dali.pipeline_def", "error")]),
        ("from nvidia import dali\n", [("nvidia.dali", "error")]),
        ("from numba import cuda, njit\n", [("numba.cuda", "error")]),
        ("from numba import njit\n", []),
        ("from cuda import cudart\n", [("cuda.cudart", "error")]),
        ("import cuda\n", []),
        ("import triton\nimport triton.language as tl\n", [("triton", "warning")]),
        ("import deepspeed\n", [("deepspeed", "info")]),
        ("import flash_attn\nfrom flash_attn import flash_attn_func\n", [("flash_attn", "error")]),
        ("def work():\n    import cupy\n", [("cupy", "warning")]),
        # Where nothing keeps the program from the call, it fails there.
        ("def work():\n    import cupy\n\n\ndef main():\n    work()\n\n\nmain()\n", [("cupy", "error")]),
        ("def work():\n    import cupy\n\n\nif __name__ == '__main__':\n    x = [work()]\n", [("cupy", "error")]),
        ("def work():\n    import cupy\n\n\nif input():\n    work()\n", [("cupy", "warning")]),
        ("def work(x):\n    if x:\n        return\n    import cupy\n\n\nwork(1)\n", [("cupy", "warning")]),
        ("def work():\n    import cupy\n    yield 1\n\n\nwork()\n", [("cupy", "warning")]),
        ("def work():\n    import cupy\n\n\nfor x in input():\n    work()\n", [("cupy", "warning")]),
        ("def work():\n    import cupy\n\n\ntry:\n    work()\nexcept ImportError:\n    pass\n", [("cupy", "warning")]),
        ("from transformers import GPTQConfig\nc = GPTQConfig(bits=4)\n", [("transformers.GPTQConfig", "warning")]),
        ("from optimum.gptq import GPTQQuantizer\n", [("optimum.gptq.GPTQQuantizer", "warning")]),
        ("try:\n    import pynvml\nexcept ImportError:\n    pynvml = None\n", [("pynvml", "info")]),
        ("try:\n    import pynvml\nexcept ImportError:\n    raise SystemExit('no')\n", [("pynvml", "error")]),
        # What fails there is taken for a machine without a device.
        (
            (
                "try:\n    import pynvml as nv\n    nv.nvmlInit()\n    there = True\nexcept Exception:\n    there = False\n"
                "device = 'cuda' if there else 'cpu'\n"
            ),
            [("pynvml", "warning")],
        ),
        (
            (
                "def there():\n    try:\n        import pynvml\n        pynvml.nvmlInit()\n        return True\n"
                "    except Exception:\n        return False\nif there():\n    model.cuda()\n"
            ),
            [("pynvml", "warning")],
        ),
        (
            (
                "def used():\n    try:\n        import pynvml\n        return pynvml.nvmlInit()\n"
                "    except Exception:\n        return None\nif used():\n    print(used())\n"
            ),
            [("pynvml", "info")],
        ),
        # It can be installed, and raises where it is started.
        (
            (
                "import pynvml as nv\ndef there():\n    try:\n        nv.nvmlInit()\n        return True\n"
                "    except nv.NVMLError:\n        return False\nplace = 'cuda' if there() else 'cpu'\n"
            ),
            [("pynvml", "warning")],
        ),
        (
            (
                "from pynvml import nvmlInit as init\ntry:\n    init()\n    PLACE = 'cuda'\n"
                "except Exception:\n    PLACE = 'cpu'\n"
            ),
            [("pynvml.nvmlInit", "warning")],
        ),
        (
            (
                "import pynvml\ntry:\n    pynvml.nvmlInit()\n    pynvml.nvmlSystemGetDriverVersion()\n"
                "except pynvml.NVMLError:\n    raise\n"
            ),
            [("pynvml", "error")],
        ),
        ("from nvidia.dali import fn\nimport nvidia.dali.types as types\n", [("nvidia.dali.fn", "error")]),
        ("try:\n    import pynvml\nfinally:\n    print()\n", [("pynvml", "error")]),
        ("if is_xformers_available():\n    import xformers\n", [("xformers", "info")]),
        (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import cupy\n",
            [("cupy", "info")],
        ),
        ("import faiss\nfaiss.index_cpu_to_gpu(a, 0, b)\n", [("faiss.index_cpu_to_gpu", "error")]),
        ("import faiss\nfaiss.GpuIndexFlatIP(a)\n", [("faiss.GpuIndexFlatIP", "error")]),
        ("from lietorch import SE3\nimport awq_ext\n", [("lietorch.SE3", "error"), ("awq_ext", "error")]),
        ("from pytorch_quantization import nn as quant_nn\n", [("pytorch_quantization.nn", "error")]),
        ("import emd\nimport tutel.moe as moe\n", [("tutel.moe", "error")]),  # emd is also a package for signals
        ("import torch\ntorch._C._cuda_getDeviceCount()\n", [("torch._C._cuda_getDeviceCount", "error")]),
    ],
)
def test_imports(text: str, expected: list[tuple[str, str]]) -> None:
    assert _told(text) == expected


PARSER = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--fast', default={})\nargs = p.parse_args()\n"


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        # An option that asks for a package by default is no question whether it is there.
        (PARSER.format("True") + "if args.fast:\n    import cupy\n", "error"),
        (PARSER.format("False") + "if args.fast:\n    import cupy\n", "warning"),
        (PARSER.format("False") + "if args.fast:\n    pass\nelse:\n    import cupy\n", "warning"),
        # Nobody knows whether these hold.
        ("import json\nuse_x = json.load(open('x.json'))['x']\nif use_x:\n    import cupy\n", "warning"),
        ("import json\nif json.load(open('x.json'))['cupy']:\n    import cupy\n", "warning"),
        ("import os\nis_main = os.environ['RANK'] == '0'\nif is_main:\n    import cupy\n", "warning"),
        ("def f(use_cupy):\n    if use_cupy:\n        import cupy\n", "warning"),
        # These ask whether something is there.
        ("try:\n    import cupy.cuda as c\nexcept ImportError:\n    c = None\nif c:\n    import cupy\n", "info"),
        ("import importlib.util as u\nuse = u.find_spec('cupy')\nif use:\n    import cupy\n", "info"),
        ("from there import USE_IT\nif USE_IT:\n    import cupy\n", "info"),
        ("import sys\nif 'cupy' in sys.modules:\n    import cupy\n", "info"),
        ("if HAS_CUPY:\n    import cupy\n", "info"),
        # A try around something else says nothing of an import.
        ("try:\n    x = int(y)\nexcept Exception:\n    x = 0\nif x:\n    import cupy\n", "warning"),
    ],
)
def test_imports_under_conditions(text: str, severity: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(text)
    (tmp_path / "there.py").write_text(
        "try:\n    import cupy\n    USE_IT = True\nexcept ImportError:\n    USE_IT = False\n"
    )
    assert {told for _, told in _told(text, tmp_path)} == {severity}


@pytest.mark.parametrize("path", sorted(CASES.glob("*.in.py")), ids=lambda path: path.name)
def test_cases_are_silent(path: Path) -> None:
    assert _told(path.read_text("utf-8")) == []


def test_own_package_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "apex").mkdir()
    for name in ("apex/__init__.py", "apex/amp.py", "train.py"):
        (tmp_path / name).write_text("from apex import amp\n")
    assert _told("from apex import amp\n", tmp_path, "train.py") == []
    assert _told("from apex import amp\n", tmp_path, "apex/amp.py") == []


def test_an_extension_that_the_project_builds(tmp_path: Path) -> None:
    """Its operators are told one by one: that the package of that name has no form for NPUs says nothing of them."""
    setup = 'from torch.utils.cpp_extension import CUDAExtension\nsetup(ext_modules=[CUDAExtension("chamfer", ["c.cu"])], {})\n'
    (tmp_path / "setup.py").write_text(setup.format("name='net'"))
    (tmp_path / "train.py").write_text("import chamfer\nimport emd_cuda\n")
    assert _told("import chamfer\nimport emd_cuda\n", tmp_path, "train.py") == [("emd_cuda", "error")]


def test_names_in_advice_exist() -> None:
    table = knowledge.load(RELEASE)
    for row in set(knowledge.packages().values()):
        for name in re.findall(r"\btorch(?:_npu|\.npu)(?:\.\w+)+", row.advice):
            assert table.has(name), f"{row.package}: {name}"


def test_a_bad_row_is_named(tmp_path: Path) -> None:
    good = (DATA / "packages.toml").read_text("utf-8")
    path = tmp_path / "packages.toml"
    path.write_text(good.replace('status = "none"', 'status = "nowhere"', 1), "utf-8")
    with pytest.raises(NpuifyError, match="Invalid enum value"):
        read_rows(path, "package", PackageFact)


def test_a_copy_of_a_package_above_a_file_is_the_projects_own(tmp_path: Path) -> None:
    """An example with a copy of Megatron: its files import each other, not the package that is installed."""
    text = "import torch\nfrom megatron import get_args\nx = torch.ones(1).cuda()\n"
    for place in ("a/megatron/data/d.py", "b/e.py"):
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).write_text(text)
    for place in ("a/megatron/__init__.py", "a/megatron/data/__init__.py"):
        (tmp_path / place).write_text("")
    found = scan([tmp_path], Options(torch_npu="2.13.0", jobs=1, cache=False)).findings
    assert [one.file for one in found if one.code == "NPU620"] == ["b/e.py"]
