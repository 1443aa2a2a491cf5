"""The programs with planted faults, each captured once for all tests."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tools.verify_faults import running
from tools.verify_faults.running import PROGRAMS
from tools.verify_faults.table import FAULTS, SOUND

from tests.warm import ROOT, Program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

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


class Captures(Mapping[str, Path]):
    """Captures that are made when a test first asks for one, for all of the test workers.

    Args:
        wanted: a program's file and arguments, by name.
        folder: where the workers keep them.
        capture_all: makes one.
    """

    def __init__(
        self, wanted: Mapping[str, Sequence[str]], folder: Path, capture_all: Callable[..., dict[str, Path]]
    ) -> None:
        self._numbers = {name: number for number, name in enumerate(wanted)}
        self._wanted = wanted
        self._folder = folder
        self._capture_all = capture_all

    def __iter__(self) -> Iterator[str]:
        return iter(self._wanted)

    def __len__(self) -> int:
        return len(self._wanted)

    def __getitem__(self, name: str) -> Path:
        import fcntl  # not on Windows, where these tests are skipped

        folder = self._folder / str(self._numbers[name])
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            known = folder / "known"
            if not known.exists():
                known.write_text(str(self._capture_all({name: self._wanted[name]}, folder / "made")[name]))
            return Path(known.read_text())


@pytest.fixture(scope="session")
def captures(tmp_path_factory: pytest.TempPathFactory, capture_all: Callable[..., dict[str, Path]]) -> Captures:
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
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    return Captures(wanted, shared / "captures", capture_all)
