"""Stub files change as their modules do; a comparison changes with what another file gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.model import Safety, Severity
from npuify.options import Options
from npuify.rewrite.plan import plan

if TYPE_CHECKING:
    from pathlib import Path

    from npuify.model import MigrationResult

STUB = """import torch
from torch.cuda import Event

def f(x: torch.Tensor, device: str = "cuda", *, place: str = "cuda") -> torch.cuda.Event: ...
class Stream(torch.cuda.Stream):
    def cuda(self) -> torch.Tensor: ...
path: str = "cuda/x.txt"
"""
MODULE = "import torch\ndef f(x, device='cuda'):\n    return x.to(device)\n"


def _planned(root: Path, style: str, **files: str) -> tuple[MigrationResult, dict[str, str]]:
    for name, text in files.items():
        (root / name.replace("_", ".")).write_text(text)
    result, contents = plan(root, Options(style=style, jobs=1, cache=False, torch_npu="2.13.0"))
    return result, {name: raw.decode() for name, raw in contents.items()}


def test_a_stub_changes_as_its_module_does(tmp_path: Path) -> None:
    result, contents = _planned(tmp_path, "npu", net_py=MODULE, net_pyi=STUB)
    expected = (
        STUB.replace("from torch.cuda", "from torch_npu.npu")
        .replace('device: str = "cuda"', 'device: str = "npu"')
        .replace("torch.cuda.Event", "torch.npu.Event")
        .replace("torch.cuda.Stream", "torch.npu.Stream")
    )
    assert contents["net.pyi"] == expected
    assert "device='npu'" in contents["net.py"]
    # No name tells what the other default is, and no body.
    assert [(one.code, one.start.line) for one in result.left if one.file == "net.pyi"] == [("NPU120", 4)]


@pytest.mark.parametrize("style", ["portable", "auto"])
def test_a_stub_goes_on_to_say_cuda_where_its_module_does(style: str, tmp_path: Path) -> None:
    result, contents = _planned(tmp_path, style, net_py=MODULE, net_pyi=STUB)
    assert "net.pyi" not in contents
    told = [one for one in result.left if one.file == "net.pyi"]
    assert all((one.severity, one.safety) == (Severity.INFO, Safety.MANUAL) for one in told)
    assert bool(told) == (style == "portable")


def test_a_stub_that_does_not_parse_is_told(tmp_path: Path) -> None:
    result, contents = _planned(tmp_path, "npu", net_pyi="def f(x: torch.cuda.Event\n")
    assert not contents
    assert {one.code for one in result.left} == {"NPU190"}


PICK = "import sys\ndef pick():\n    return 'cuda' if len(sys.argv) > 1 else 'cpu'\n"


@pytest.mark.parametrize(
    ("use", "after"),
    [
        ("if d == 'cuda':\n    x = torch.ones(1).to(d)\n", "if d == 'npu':"),
        ("x = torch.ones(1).to(d)\nprint(d != 'cuda')\n", "print(d != 'npu')"),
        ("x = torch.ones(1, device=d)\nif d in ('cuda', 'mps'): ...\n", "if d in ('npu', 'mps'):"),
    ],
)
def test_both_ends_of_a_comparison_with_what_another_file_gives(use: str, after: str, tmp_path: Path) -> None:
    main = f"import torch\nfrom lib import pick\nd = pick()\n{use}"
    _, contents = _planned(tmp_path, "npu", lib_py=PICK, main_py=main)
    assert "'npu' if len" in contents["lib.py"]
    assert after in contents["main.py"]
