"""The shipped tables against the packages themselves. Needs the wheels: NPUIFY_WHEELS, or the package index."""

from __future__ import annotations

import ast
import os
import re
import zipfile
from pathlib import Path

import pytest

from npuify.knowledge import load
from npuify.knowledge.generate import download, generate
from npuify.knowledge.release.table import RELEASES
from npuify.knowledge.release.versions import shipped_tables

from .conftest import SMALLEST

pytestmark = [pytest.mark.network, pytest.mark.slow, pytest.mark.thorough]


def _text(folder: Path, project: str, version: str, member: str) -> str:
    path = download.find_wheel(folder, project, version)
    assert path is not None
    with zipfile.ZipFile(path) as archive:
        return archive.read(member).decode("utf-8")


def _exported(text: str) -> list[str]:
    """The ``__all__`` of a module, as a plain list in its text."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return names
    raise AssertionError("no __all__")


def test_generating_again_gives_the_same_file(wheels: Path, tmp_path: Path) -> None:
    path = generate(SMALLEST, wheels=wheels, output=tmp_path)
    assert path.read_bytes() == (RELEASES / path.name).read_bytes()


def _complete(folder: Path) -> list[str]:
    tables = [(version, load(version).torch) for version in shipped_tables()]
    return [
        npu
        for npu, torch in tables
        if download.find_wheel(folder, "torch-npu", npu) and download.find_wheel(folder, "torch", torch)
    ]


GIVEN = os.environ.get("NPUIFY_WHEELS", "")


@pytest.mark.parametrize("release", _complete(Path(GIVEN)) if GIVEN else [])
def test_every_release_whose_wheels_are_given(release: str, tmp_path: Path) -> None:
    path = generate(release, wheels=Path(GIVEN), output=tmp_path)
    assert path.read_bytes() == (RELEASES / path.name).read_bytes()


def test_what_npu_exports_is_in_the_table(wheels: Path) -> None:
    table = load(SMALLEST)
    names = _exported(_text(wheels, "torch-npu", SMALLEST, "torch_npu/npu/__init__.py"))
    assert len(names) > 100
    assert [name for name in names if not table.has(f"torch.npu.{name}")] == []


def test_what_cuda_exports_is_in_the_table(wheels: Path) -> None:
    table = load(SMALLEST)
    names = _exported(_text(wheels, "torch", table.torch, "torch/cuda/__init__.py"))
    assert len(names) > 100
    assert [name for name in names if not table.has_cuda(f"torch.cuda.{name}")] == []


def test_public_operators_are_in_the_table(wheels: Path) -> None:
    table = load(SMALLEST)
    text = _text(wheels, "torch-npu", SMALLEST, "torch_npu/utils/exposed_api.py")
    names = re.findall(r"'(\w+)'", text)
    assert len(names) > 50
    assert [name for name in names if not table.has(f"torch_npu.{name}")] == []


@pytest.mark.parametrize(
    ("member", "statement", "name"),
    [
        ("torch_npu/npu/memory.py", "def empty_cache():", "torch.npu.empty_cache"),
        ("torch_npu/npu/streams.py", "    def elapsed_time(self, end_event):", "torch.npu.Event.elapsed_time"),
        ("torch_npu/npu/graphs.py", "class NPUGraph(", "torch.npu.NPUGraph"),
        ("torch_npu/npu/mstx.py", "    def range_start(", "torch.npu.mstx.range_start"),
        ("torch_npu/npu/mstx.py", "    def range_push(", "torch.npu.mstx.range_push"),
        ("torch_npu/npu/utils.py", "def is_bf16_supported(", "torch.npu.is_bf16_supported"),
        ("torch_npu/npu/utils.py", "def get_arch_list(", "torch.npu.get_arch_list"),
        ("torch_npu/npu/streams.py", "class ExternalStream(", "torch.npu.ExternalStream"),
    ],
)
def test_the_table_says_what_the_text_says(wheels: Path, member: str, statement: str, name: str) -> None:
    """In both directions: some of these are not in this release."""
    text = _text(wheels, "torch-npu", SMALLEST, member)
    assert load(SMALLEST).has(name) is (f"\n{statement}" in text)


def test_hand_written_facts_about_this_release(wheels: Path) -> None:
    utils = _text(wheels, "torch-npu", SMALLEST, "torch_npu/npu/utils.py")
    body = utils[utils.index("def get_device_capability") :].split("\ndef ")[0]
    assert "return None" in body
    assert "environ" not in body and "getenv" not in body
    config = _text(wheels, "torch-npu", SMALLEST, "torch_npu/npu/npu_config.py")
    convolution = config[config.index("class _allowHF32Conv") :]
    assert 'return (hf32_value is None) or (hf32_value.decode() == "")' in convolution, "on unless set"
    assert "torch.version.cann = " in _text(wheels, "torch-npu", SMALLEST, "torch_npu/utils/collect_env.py")
    nvtx = _text(wheels, "torch", load(SMALLEST).torch, "torch/cuda/nvtx.py")
    assert "raise RuntimeError" in nvtx
