"""Pythons with TensorFlow, where there are any: tests that need one say by name which, and are skipped without it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[3]
VARIABLE = "NPUIFY_TENSORFLOW_PYTHONS"
"""Pythons, with a colon between them. Those below ~/.pyenv are searched besides."""


class Ran(NamedTuple):
    """What became of a program under ``npuify simulate``."""

    code: int
    out: str
    err: str


@cache
def pythons() -> dict[str, str]:
    """Minor version of TensorFlow → a Python that has it."""
    named = [Path(one) for one in os.environ.get(VARIABLE, "").split(os.pathsep) if one]
    found: dict[str, str] = {}
    for python in [*named, *sorted(Path.home().glob(".pyenv/versions/*/bin/python"))]:
        for folder in python.parent.parent.glob("lib/python*/site-packages/tensorflow*.dist-info"):
            match = re.fullmatch(r"tensorflow(?:_cpu|_gpu)?-(\d+\.\d+)\..*", folder.name)
            if match:
                found.setdefault(match[1], str(python))
    return found


def python_with(version: str) -> str:
    """A Python with that TensorFlow; the test is skipped where there is none."""
    found = pythons().get(version)
    if found is None:
        pytest.skip(f"no Python with TensorFlow {version}: name one in {VARIABLE}")
    return found


def simulate(version: str, program: Path, *options: str, environment: dict[str, str] | None = None) -> Ran:
    """Run a program under ``npuify simulate`` with that TensorFlow."""
    environ = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(ROOT / "src"), **(environment or {})}
    for name in ("RANK_ID", "RANK_SIZE", "RANK_TABLE_FILE", "JOB_ID"):
        if name not in (environment or {}):
            environ.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-m", "npuify", "simulate", "--python", python_with(version), *options, str(program)],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env=environ,
        cwd=program.parent,
    )
    return Ran(done.returncode, done.stdout, done.stderr)
