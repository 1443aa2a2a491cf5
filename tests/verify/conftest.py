"""The programs with planted faults, each captured once for all tests."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tools.verify_faults.running import PROGRAMS, capture_all
from tools.verify_faults.table import FAULTS, SOUND

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def captures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A capture of each program sound, twice, with each fault, and in each other way; by ``program: fault or way``."""
    pytest.importorskip("torch")
    pytest.importorskip("numpy")
    if not hasattr(os, "fork"):
        pytest.skip("the programs run in forks")
    wanted = {}
    for program in ("gpt", "cnn"):
        for again in ("", "again"):
            wanted[f"{program}: {again}"] = [str(PROGRAMS / f"{program}.py")]
    for fault in FAULTS:
        wanted[f"{fault.program}: {fault.name}"] = [str(PROGRAMS / f"{fault.program}.py"), "--fault", fault.name]
    for sound in SOUND:
        for way in filter(None, (sound.way, sound.against)):
            wanted[f"{sound.program}: {way}"] = [str(PROGRAMS / f"{sound.program}.py"), "--way", way]
    return capture_all(wanted, tmp_path_factory.mktemp("captures"))
