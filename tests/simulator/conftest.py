"""Programs on the simulated NPU: each runs in a process of its own, as users start it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Protocol

import pytest

SOURCE = Path(__file__).parents[2] / "src"


class Simulate(Protocol):
    """Runs a program with ``npuify simulate``."""

    def __call__(self, program: str, *options: str, arguments: tuple[str, ...] = (), code: int = 0) -> str: ...


def environment() -> dict[str, str]:
    """The environment of such a process."""
    keep = {name: value for name, value in os.environ.items() if not name.startswith("NPUIFY_SIMULATE")}
    path = os.pathsep.join(filter(None, [str(SOURCE), keep.get("PYTHONPATH", "")]))
    keep.pop("PYTHONWARNINGS", None)
    return {**keep, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


@pytest.fixture
def simulate(tmp_path: Path) -> Simulate:
    """Run a program's text, and give what it printed; its exit code must be ``code``."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    if not any(shutil.which(name) for name in ("g++", "clang++", "c++")):
        pytest.skip("no C++ compiler")

    def run(program: str, *options: str, arguments: tuple[str, ...] = (), code: int = 0) -> str:
        file = tmp_path / "program.py"
        file.write_text(textwrap.dedent(program), encoding="utf-8")
        command = [sys.executable, "-m", "npuify", "simulate", *options, str(file), *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    return run
