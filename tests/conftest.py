"""What several parts need: processes that have imported PyTorch already."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from functools import cache
from pathlib import Path
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

_HERE = Path(__file__).parent
_PATH = {"PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))}


_STARTS_RANKS = re.compile(r"torchrun|nproc_per_node|spawn|ddp_training")
_THEIRS = ("distribute", "handover", "launch", "run", "scaffold", "simulator", "tools", "trace", "verify")
_OF_GLOO = ["terminate called without an active exception", "hung after the other ranks had ended"]
"""How Gloo's processes end by themselves now and then, whatever they were to do."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the thorough tests to ``./check all``, and have those that start ranks run again where Gloo fails.

    Only those: the plugin that does it asks its server about each test, which takes longer than most tests do.
    """
    again = pytest.mark.flaky(reruns=2, only_rerun=_OF_GLOO)
    for item in items:
        if not ALL and item.get_closest_marker("thorough"):
            item.add_marker(pytest.mark.skip(reason="for ./check all"))
        elif _starts_ranks(item.path):
            item.add_marker(again)


@cache
def _starts_ranks(module: Path) -> bool:
    """Whether tests of a module may start several ranks, by what its folder is about and by the words in it."""
    folder = module.relative_to(_HERE).parts[0]
    return folder in (*_THEIRS, "test_examples.py") and bool(_STARTS_RANKS.search(module.read_text(encoding="utf-8")))


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
