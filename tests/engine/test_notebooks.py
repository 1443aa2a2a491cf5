"""Notebooks through the whole engine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ..harness import findings, migrated, worker

if TYPE_CHECKING:
    from pathlib import Path

    from npuify.model import FileError, Finding


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


def findings_and_errors(notebook: str) -> tuple[list[Finding], list[FileError]]:
    found, errors, _, _ = worker().analyse("demo.ipynb", notebook.encode())
    return found, errors


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


def test_a_file_that_a_cell_writes_is_migrated_as_one_of_its_kind() -> None:
    assert _out(
        "%%writefile src/train.py\nimport torch\nimport torch.distributed as dist\ndist.init_process_group('nccl')\n",
        "%%writefile run.sh\nCUDA_LAUNCH_BLOCKING=1 torchrun train.py --dist-backend nccl",
        "%%writefile conf/ddp.yaml\ndevice: cuda\nbackend: nccl",
        "%%writefile requirements.txt\nonnxruntime-gpu\n",
        "%%file -a src/train.py\nx = torch.ones(1).cuda()",
        "%%writefile notes.md\ntorch.cuda.synchronize()",
        "import torch",
        unsafe=True,
    ) == [
        (
            "%%writefile src/train.py\nimport torch\nimport torch_npu  # noqa: F401\nimport torch.distributed as dist\n"
            "dist.init_process_group('hccl')\n"
        ),
        "%%writefile run.sh\nASCEND_LAUNCH_BLOCKING=1 torchrun train.py --dist-backend hccl",
        "%%writefile conf/ddp.yaml\ndevice: npu\nbackend: hccl",
        "%%writefile requirements.txt\nonnxruntime-cann\n",
        "%%file -a src/train.py\nx = torch.ones(1).npu()",
        "%%writefile notes.md\ntorch.cuda.synchronize()",
        "import torch",
    ]


def test_what_a_written_file_lacks_is_told_at_its_line() -> None:
    notebook = _notebook("%%writefile run.sh\necho\nsbatch --gres=gpu:1 x", "%%writefile x.py\ndef (:\n  torch.cuda.a")
    found = findings_and_errors(notebook)
    assert [(one.code, one.message.partition(":")[0]) for one in found[0]] == [
        ("NPU710", "cell 1, line 3"),
        ("NPU190", "cell 2, line 3"),
    ]
    assert [(one.file, one.message.partition(":")[0]) for one in found[1]] == [("demo.ipynb", "cell 2")]


@pytest.mark.parametrize("style", ["portable", "auto"])
def test_a_written_program_is_only_told_of_in_other_styles(style: str) -> None:
    cell = "%%writefile train.py\nimport torch\ntorch.cuda.memory.memory_allocated()\n"
    result = migrated(_notebook(cell), name="demo.ipynb", style=style)
    assert result.raw is None
    assert "train.py" in result.left[0].advice


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("%env CUDA_VISIBLE_DEVICES=0,1", "%env ASCEND_RT_VISIBLE_DEVICES=0,1"),
        ("%env CUDA_LAUNCH_BLOCKING 1\nx = 1", "%env ASCEND_LAUNCH_BLOCKING 1\nx = 1"),
        ("%set_env TORCH_NCCL_ASYNC_ERROR_HANDLING = 1", "%set_env HCCL_ASYNC_ERROR_HANDLING = 1"),
        (
            "%env CUDA_LAUNCH_BLOCKING=1\n%env CUDA_LAUNCH_BLOCKING",
            "%env ASCEND_LAUNCH_BLOCKING=1\n%env ASCEND_LAUNCH_BLOCKING",
        ),
        ("%env NCCL_BUFFSIZE=4194304", "%env NCCL_BUFFSIZE=4194304"),
        ("%env", "%env"),
        ("%env HF_HOME=/cuda", "%env HF_HOME=/cuda"),
        ("%environment CUDA_LAUNCH_BLOCKING=1", "%environment CUDA_LAUNCH_BLOCKING=1"),
    ],
)
def test_variables_that_magics_set(before: str, after: str) -> None:
    assert _out(before) == [after]


def test_values_that_magics_set_are_translated_where_asked() -> None:
    cells = ("%env CUDA_VISIBLE_DEVICES=3,1\n%env NCCL_BUFFSIZE 4194304", "%env CUDA_VISIBLE_DEVICES={gpu}")
    assert _out(*cells, unsafe=True) == [
        "%env ASCEND_RT_VISIBLE_DEVICES=1,3\n%env HCCL_BUFFSIZE 4",
        "%env ASCEND_RT_VISIBLE_DEVICES={gpu}",
    ]


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
            "%env CUDA_LAUNCH_BLOCKING=1",
            "%%writefile a.py\nimport torch\nx = torch.ones(1, device='cuda')",
            "%%writefile a.yaml\nbackend: nccl\n",
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
    assert text.count("import torch_npu") <= 1 + sum("%%writefile" in cell for cell in cells)
    assert all(type(one) is type(two) for one, two in sources)
    assert migrated(result.raw, name="demo.ipynb", unsafe=True).raw is None


def test_programs_that_a_notebook_runs(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import argparse\nimport torch\np = argparse.ArgumentParser()\np.add_argument('--device')\n"
        "torch.ones(1).to(p.parse_args().device)\n"
    )
    before = _notebook("%run train.py --device cuda --name cuda\n%run_cell_magic cuda")
    result = migrated(before, name="demo.ipynb", root=tmp_path)
    assert result.raw == before.replace("--device cuda", "--device npu").encode()


def _shown_as(language: str, cell: str) -> str:
    content = json.loads(_notebook(cell, "import torch\n"))
    content["cells"][0]["metadata"] = {"vscode": {"languageId": language}}
    return json.dumps(content, indent=1) + "\n"


def test_a_cell_that_an_editor_shows_as_a_shell_script_is_one() -> None:
    cell = "# one card\nCUDA_VISIBLE_DEVICES=0 \\\npython train.py --backend nccl\n"
    result = migrated(_shown_as("shellscript", cell), name="demo.ipynb", unsafe=True)
    assert not result.errors
    assert result.raw is not None
    assert "".join(_sources(result.raw)[0]) == cell.replace("CUDA_VISIBLE", "ASCEND_RT_VISIBLE").replace("nccl", "hccl")


def test_what_python_can_read_is_python_whatever_an_editor_shows() -> None:
    result = migrated(_shown_as("shellscript", "import torch\ntorch.cuda.synchronize()\n"), name="demo.ipynb")
    assert result.raw is not None
    assert "torch.npu.synchronize()" in "".join(_sources(result.raw)[0])


@pytest.mark.parametrize("language", ["json", "markdown", "sql"])
def test_a_cell_in_another_language_is_not_taken_for_broken_python(language: str) -> None:
    assert findings_and_errors(_shown_as(language, "CUDA_VISIBLE_DEVICES=0 is said here\n")) == ([], [])
