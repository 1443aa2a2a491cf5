"""Notebooks through the whole engine."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .harness import findings, migrated


def _notebook(*cells: str, indent: int | None = 1, as_list: bool = True) -> str:
    made = [
        {
            "cell_type": "code",
            "execution_count": 3,
            "metadata": {"tags": ["cuda"]},
            "outputs": [{"name": "stdout", "text": ["device = 'cuda'\n"]}],
            "source": cell.splitlines(keepends=True) if as_list else cell,
        }
        for cell in cells
    ]
    return json.dumps({"cells": made, "metadata": {"note": "torch.cuda"}, "nbformat": 4}, indent=indent) + "\n"


def _sources(raw: bytes) -> list[Any]:
    return [cell["source"] for cell in json.loads(raw)["cells"]]


def _out(*cells: str, unsafe: bool = False) -> list[str]:
    result = migrated(_notebook(*cells), name="demo.ipynb", unsafe=unsafe)
    assert not result.errors, result.errors
    if result.raw is None:
        return list(cells)
    assert migrated(result.raw, name="demo.ipynb", unsafe=unsafe).raw is None, "a second run changed something"
    return ["".join(source) for source in _sources(result.raw)]


@pytest.mark.parametrize(
    "cells",
    [
        ("x = 1",),
        ("print('torch.cuda is fast')",),
        ("%%html\n<a href='torch.cuda'>",),
        ("%%R\ntorch.cuda.synchronize()",),
        ("# torch.cuda.synchronize()",),
        ("!pip install numpy", "import numpy"),
        ("import torch\nx.cuda()  # npuify: ignore\n",),
    ],
)
def test_nothing_to_do(cells: tuple[str, ...]) -> None:
    assert _out(*cells) == list(cells)


def test_names_of_earlier_cells_hold_in_later_ones() -> None:
    assert _out("import torch.cuda as gpu", "%time gpu.synchronize()\n", "s = gpu.Stream()") == [
        "import torch_npu.npu as gpu",
        "%time gpu.synchronize()\n",
        "s = gpu.Stream()",
    ]


def test_torch_npu_is_imported_once_after_torch() -> None:
    assert _out("import os", "import torch", "!nvidia-smi\nx = torch.ones(1).cuda()", "y = x.cuda()\n") == [
        "import os",
        "import torch\nimport torch_npu  # noqa: F401",
        "!nvidia-smi\nx = torch.ones(1).npu()",
        "y = x.npu()\n",
    ]


def test_a_cell_of_another_language_gets_no_import() -> None:
    assert _out("import torch", "%%bash\nnvidia-smi", "torch.cuda.synchronize()") == [
        "import torch\nimport torch_npu  # noqa: F401",
        "%%bash\nnvidia-smi",
        "torch.npu.synchronize()",
    ]


@pytest.mark.parametrize("indent", [None, 1, 4])
@pytest.mark.parametrize("as_list", [True, False])
def test_bytes_outside_the_changed_strings_stay(indent: int | None, as_list: bool) -> None:
    before = _notebook("import torch_npu\nimport torch\nd = torch.device('cuda')\n", indent=indent, as_list=as_list)
    result = migrated(before, name="demo.ipynb")
    assert result.raw is not None
    assert result.raw.decode() == before.replace("torch.device('cuda')", "torch.device('npu')")


def test_windows_line_ends_and_tabs_stay() -> None:
    before = _notebook("import torch_npu, torch\ntorch.cuda.synchronize()").replace("\n", "\r\n").replace(' "', '\t"')
    result = migrated(before, name="demo.ipynb")
    assert result.raw is not None
    assert result.raw.decode() == before.replace("torch.cuda.sync", "torch.npu.sync")


def test_findings_name_cell_and_line_and_stand_at_the_line_of_the_file() -> None:
    text = _notebook("import torch", "x = 1\ntorch.cuda.synchronize()")
    found = [one for one in findings(text, name="demo.ipynb") if one.code == "NPU101"]
    assert len(found) == 1
    assert found[0].message.startswith("cell 2, line 2: ")
    line = text.splitlines()[found[0].start.line - 1]
    assert line[found[0].start.column - 1 :].startswith("torch.cuda.synchronize")


def test_a_cell_that_does_not_parse_is_told_and_the_others_are_migrated() -> None:
    result = migrated(
        _notebook("import torch\ntorch.cuda.synchronize()", "x = = 'cuda'", "y.cuda()"), name="demo.ipynb"
    )
    assert [error.message.partition(":")[0] for error in result.errors] == ["cell 2"]
    assert result.raw is not None
    assert [one.code for one in result.left] == ["NPU190"]
    assert "".join(_sources(result.raw)[2]) == "y.npu()"


@pytest.mark.parametrize("raw", [b"{", b'{"cells": [}', b'{"nbformat": 4}', b"\xff\xfe"])
def test_broken_notebooks_are_reported(raw: bytes) -> None:
    result = migrated(raw, name="demo.ipynb")
    assert result.raw is None
    assert len(result.errors) == 1


def test_pip_lines_go_through_the_rules_for_dependencies() -> None:
    assert _out("!pip install torch==1.7.1+cu110 tqdm -f https://download.example/whl/torch_stable.html") == [
        "!pip install torch==2.14.0 torch-npu==2.14.0 tqdm -f https://download.example/whl/torch_stable.html"
    ]
    assert _out("%pip install -q nvidia-cudnn-cu12==9 tqdm") == ["%pip install -q tqdm"]
    assert _out("!pip install deepspeed==0.9.5 x", unsafe=True) == ['!pip install "deepspeed>=0.12.6" x']
    assert _out("!pip install 'deepspeed==0.9.5'", unsafe=True) == ["!pip install 'deepspeed>=0.12.6'"]


def test_the_only_package_of_a_command_is_not_taken_out() -> None:
    assert _out("!pip install nvidia-cudnn-cu12") == ["!pip install nvidia-cudnn-cu12"]


def test_a_file_that_a_cell_writes_is_only_told_of() -> None:
    cell = "%%writefile train.py\nimport torch\ntorch.cuda.synchronize()\n"
    assert _out(cell) == [cell]
    found = findings(_notebook(cell), name="demo.ipynb")
    assert [one.code for one in found] == ["NPU101"]
    assert "train.py" in found[0].advice


_CELLS = st.lists(
    st.sampled_from(
        [
            "import torch",
            "import torch\n",
            "x = torch.ones(2).cuda()",
            "!pip install torch\n",
            "%%time\nx.cuda()\n",
            "if a:\n    torch.cuda.synchronize()",
            "from torch.cuda.amp import (\n    autocast,\n)\n",
            "%%bash\necho cuda",
            "",
            "\n",
            "'é' + 'cuda'",
        ]
    ),
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(_CELLS, st.booleans())
def test_any_order_of_cells(cells: list[str], as_list: bool) -> None:
    before = _notebook(*cells, as_list=as_list)
    result = migrated(before, name="demo.ipynb", unsafe=True)
    assert not result.errors
    if result.raw is None:
        return
    old, new = json.loads(before), json.loads(result.raw)
    sources = [(one.pop("source"), two.pop("source")) for one, two in zip(old["cells"], new["cells"], strict=True)]
    assert old == new
    text = "\n".join("".join(source) for _, source in sources)
    assert text.count("import torch_npu") <= 1
    assert all(type(one) is type(two) for one, two in sources)
    assert migrated(result.raw, name="demo.ipynb", unsafe=True).raw is None
