"""Which programs decide the Python of an environment: those on PyTorch, whose plug-in has wheels for some."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import npuify
from npuify.options import Options

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("program", "stays"),
    [
        ("import paddle\n", True),
        ("import jax\n", True),
        ("import torch\n", False),
        ("import jax\nimport torch\n", False),
    ],
)
def test_the_python_is_pytorchs_where_programs_stand_on_it(program: str, stays: bool, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    (source / "train.py").write_text(program)
    (source / "environment.yml").write_text("name: x\ndependencies:\n  - python=3.7\n  - numpy\n")
    (source / "install.sh").write_text("conda create -n x python=3.7 numpy\n")
    npuify.migrate(source, tmp_path / "out", Options(cache=False, jobs=1, unsafe=True))
    out = [(tmp_path / "out" / name).read_text() for name in ("environment.yml", "install.sh")]
    assert ["3.7" in one for one in out] == [stays, stays]
