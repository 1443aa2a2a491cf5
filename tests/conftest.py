"""What several parts need: processes that have imported PyTorch already."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from .warm import ROOT, warm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .warm import Warm


def _needs_forks() -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    if not hasattr(os, "fork"):
        pytest.skip("the programs run in forks")


@pytest.fixture(scope="session")
def on_cpu() -> Iterator[Warm]:
    """Runs programs on the CPU."""
    _needs_forks()
    with warm({"PYTHONWARNINGS": "ignore"}) as made:
        yield made


@pytest.fixture(scope="session")
def on_npus() -> Iterator[Warm]:
    """Runs programs on four simulated NPUs with the random numbers of the CPU, as ``npuify simulate`` prepares them."""
    _needs_forks()
    if not any(map(shutil.which, ("g++", "clang++", "c++"))):
        pytest.skip("no C++ compiler")
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-m", "npuify", "simulate", "--devices=4", "--cpu-random", "--policy=off"]
    with warm({"PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}, command) as made:
        yield made
