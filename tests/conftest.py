"""What several parts need: processes that have imported PyTorch already."""

from __future__ import annotations

import importlib.util
import os
import shutil
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from npuify.simulator.launch import environment
from npuify.simulator.settings import Settings

from .real_code import ALL
from .warm import ROOT, warm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .warm import Warm


# Two workers share few cores, and what they compute is small: threads of PyTorch's would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Nothing passes or fails by the clock: on a busy machine drawing examples takes long.
settings.register_profile("npuify", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("npuify")

_PATH = {"PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the thorough tests to ``./check all``."""
    if not ALL:
        for item in items:
            if item.get_closest_marker("thorough"):
                item.add_marker(pytest.mark.skip(reason="for ./check all"))


def _needs_forks() -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    if not hasattr(os, "fork"):
        pytest.skip("the programs run in forks")


@pytest.fixture(scope="session")
def on_cpu() -> Iterator[Warm]:
    """Runs programs on the CPU, and captures them."""
    _needs_forks()
    # Some virtual machines announce AMX and then refuse it, which kills every product of bfloat16.
    environment = {**_PATH, "ONEDNN_MAX_CPU_ISA": os.environ.get("ONEDNN_MAX_CPU_ISA", "AVX512_CORE")}
    capture = ("machine", "recorder", "sameness", "start", "store", "training")
    with warm(environment, [f"npuify.verify.capture.{name}" for name in capture]) as made:
        yield made


@pytest.fixture(scope="session")
def on_npus() -> Iterator[Warm]:
    """Runs programs on simulated NPUs: those that the environment of each says, else eight."""
    _needs_forks()
    if not any(map(shutil.which, ("g++", "clang++", "c++"))):
        pytest.skip("no C++ compiler")
    with warm(environment(Settings(), {**os.environ, **_PATH})) as made:
        yield made
