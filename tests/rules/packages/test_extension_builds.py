"""A migrated setup.py runs where CUDA is not installed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from ...harness import output
from ...warm import Program

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ...warm import Done, Warm

pytest.importorskip("torch")
pytest.importorskip("setuptools")

SETUP = """
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension, CUDAExtension

modules = [CUDAExtension("one_cuda", ["one.cpp", "one.cu"]), CppExtension("two", ["two.cpp"])]
modules.append(CUDAExtension("three_cuda", ["three.cu"]))
print("modules:", [module.name for module in modules])
setup(name="example", version="1.2.3", ext_modules=modules, cmdclass={"build_ext": BuildExtension})
"""


@pytest.fixture(name="run")
def _run(on_cpu: Warm) -> Callable[[Path, str], Done]:
    def run(folder: Path, text: str) -> Done:
        (folder / "setup.py").write_text(text)
        clean = {name: None for name in os.environ if name.startswith("CUDA")}
        return on_cpu.run(Program(["setup.py", "--version"], folder, clean))[0]

    return run


def test_without_cuda(tmp_path: Path, run: Callable[[Path, str], Done]) -> None:
    before = run(tmp_path, SETUP)
    if before.returncode == 0:
        pytest.skip("CUDA is installed here")
    assert "CUDA_HOME" in before.stderr
    after = run(tmp_path, output(SETUP, name="setup.py"))
    assert after.returncode == 0, after.stderr
    assert "modules: ['two']" in after.stdout
    assert "1.2.3" in after.stdout


def test_with_cuda_all_are_built_as_before(tmp_path: Path, run: Callable[[Path, str], Done]) -> None:
    cuda = tmp_path / "cuda"
    (cuda / "bin").mkdir(parents=True)
    (cuda / "lib64").mkdir()
    # A torch without CUDA does not look for it; so it is told.
    told = f"import torch.utils.cpp_extension\ntorch.utils.cpp_extension.CUDA_HOME = {str(cuda)!r}\n"
    for text in (SETUP, output(SETUP, name="setup.py")):
        done = run(tmp_path, told + text)
        assert "['one_cuda', 'two', 'three_cuda']" in done.stdout, done.stderr
