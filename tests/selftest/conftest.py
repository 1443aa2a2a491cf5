"""A worker beside the simulated NPU, which all tests of a module share."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from npuify.selftest.runner import describe
from npuify.selftest.worker import Worker
from npuify.simulator.launch import environment
from npuify.simulator.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.hardware.results import MachineSeen


def simulated(devices: int = 2, soc: str = "Ascend910B3") -> dict[str, str]:
    """Variables with which a Python sees simulated NPUs."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    if not any(shutil.which(name) for name in ("g++", "clang++", "c++")):
        pytest.skip("no C++ compiler")
    import os

    made = environment(Settings(devices=devices, soc=soc, policy="warn"), {})
    made["PYTHONPATH"] = os.pathsep.join(filter(None, [made["PYTHONPATH"], os.environ.get("PYTHONPATH", "")]))
    return {**made, "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    made = Worker(sys.executable, simulated())
    yield made
    made.close()


@pytest.fixture(scope="module")
def machine(worker: Worker) -> MachineSeen:
    return describe(worker)
