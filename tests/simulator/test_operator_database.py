"""A sample of PyTorch's operator database; the whole of it: tools/opinfo_on_simulated_npu.py."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import environment

REFUSED = {"sparse.sampled_addmm", "sparse.mm.reduce", "to_sparse", "tensor_split", "double", "float_power"}
"""Sparse layouts are not simulated; tensor_split wants its sections on the CPU, on every device; float64 becomes float32."""
TOOL = Path(__file__).parents[2] / "tools" / "opinfo_on_simulated_npu.py"


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.skipif(importlib.util.find_spec("expecttest") is None, reason="PyTorch's test tools need expecttest")
@pytest.mark.skipif(not any(map(shutil.which, ("g++", "clang++", "c++"))), reason="no C++ compiler")
def test_a_sample_of_the_operators_agrees_with_the_cpu() -> None:
    options = ["--policy=off", "--cpu-random", str(TOOL), "--every=9", "--samples=2"]
    command = [sys.executable, "-m", "npuify", "simulate", *options]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=600, check=False)
    lines = done.stdout.splitlines()
    assert lines and " operators pass " in lines[-1], f"{done.stdout}\n{done.stderr}"
    assert int(lines[-1].split()[2]) > 60, "the database was hardly looked at"
    failed = {line.split()[1].rstrip(":") for line in lines if line.startswith("FAIL ")}
    assert failed <= REFUSED, done.stdout
