"""What tests of the stand-ins need: Linux and a C++ compiler."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(scope="session", autouse=True)
def _needs_a_compiler() -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("the stand-ins are shared libraries for Linux")
    if shutil.which("g++") is None:
        pytest.skip("there is no g++ to compile the stand-ins with")


@pytest.fixture(name="compile_library")
def _compile_library(tmp_path: Path) -> Callable[..., Path]:
    """Compiles C++ text to ``<name>`` in the test's folder."""

    def compile_library(name: str, text: str, *options: str) -> Path:
        source = tmp_path / f"{name}.cpp"
        source.write_text(text, encoding="utf-8")
        target = tmp_path / name
        command = ["g++", "-shared", "-fPIC", "-O0", f"-Wl,-soname,{name}", str(source), "-o", str(target), *options]
        subprocess.run(command, check=True, capture_output=True)
        return target

    return compile_library


@pytest.fixture(scope="session", name="runtime")
def _runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stand-in runtime, compiled."""
    from tools.real_torch_npu.stand_ins import build_runtime

    return build_runtime(tmp_path_factory.mktemp("runtime"))
