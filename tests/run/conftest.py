"""CUDA programs under ``npuify run --device simulated``: each runs in a process of its own, as users start it."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, Protocol

import pytest

SOURCE = Path(__file__).parents[2] / "src"


class Run(Protocol):
    """Runs a program's text with ``npuify run``, and gives what it printed."""

    def __call__(self, program: str, *options: str, arguments: tuple[str, ...] = (), code: int = 0) -> str: ...


def environment() -> dict[str, str]:
    """The environment of such a process."""
    keep = {name: value for name, value in os.environ.items() if not name.startswith(("NPUIFY_", "ASCEND_", "CUDA_"))}
    path = os.pathsep.join(filter(None, [str(SOURCE), keep.get("PYTHONPATH", "")]))
    keep.pop("PYTHONWARNINGS", None)
    return {**keep, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


def needs_simulation() -> None:
    """Skip where nothing can be simulated."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    if not any(shutil.which(name) for name in ("g++", "clang++", "c++")):
        pytest.skip("no C++ compiler")


def npuify(*arguments: str, folder: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command line in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "npuify", *arguments],
        cwd=folder,
        env=env or environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """As :class:`Run`, in the test's folder; the program is ``program.py``, and must end with ``code``."""
    needs_simulation()

    def start(program: str, *options: str, arguments: tuple[str, ...] = (), code: int = 0) -> str:
        file = tmp_path / "program.py"
        file.write_text(textwrap.dedent(program), encoding="utf-8")
        done = npuify("run", "--device", "simulated", *options, str(file), *arguments, folder=tmp_path)
        assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    return start


def rows(file: Path) -> list[dict[str, Any]]:
    """The calls in a trace."""
    return [row for row in map(json.loads, file.read_text(encoding="utf-8").splitlines()) if row["kind"] == "call"]
