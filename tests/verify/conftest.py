"""The programs with planted faults, each captured once for all tests."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tools.verify_faults import running
from tools.verify_faults.running import PROGRAMS
from tools.verify_faults.table import FAULTS, SOUND

from tests.warm import ROOT, Program

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.warm import Warm

CAPTURED = Path(__file__).with_name("captured.py")


@pytest.fixture(scope="session")
def forked(on_cpu: Warm) -> Callable[..., subprocess.CompletedProcess[str]]:
    """As that of the tools, in forks of the process that all parts use."""

    def run(requests: Sequence[Mapping[str, Any]], *_: object, **__: object) -> subprocess.CompletedProcess[str]:
        failed, said = 0, ""
        for request in requests:
            under = [str(CAPTURED)] if request["environment"] else []
            (done,) = on_cpu.run(Program([*under, *request["arguments"]], ROOT, request["environment"]))
            if done.returncode:
                failed, said = 1, said + done.stderr
                if "failed" in request:
                    Path(request["failed"]).touch()
        return subprocess.CompletedProcess([], failed, "", said)

    return run


@pytest.fixture(scope="session")
def capture_all(forked: Callable[..., subprocess.CompletedProcess[str]]) -> Callable[..., dict[str, Path]]:
    """As that of the tools, with such forks."""
    pytest.importorskip("numpy")
    return functools.partial(running.capture_all, run=forked)


@pytest.fixture(scope="session")
def captures(tmp_path_factory: pytest.TempPathFactory, capture_all: Callable[..., dict[str, Path]]) -> dict[str, Path]:
    """A capture of each program sound, twice, with each fault, and in each other way; by ``program: fault or way``."""
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
