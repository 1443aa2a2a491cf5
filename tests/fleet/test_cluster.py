"""A real cluster on this machine: a scheduler and several workers, each a process that may be killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from npuify.fleet.model import Limits
from npuify.fleet.reports.report import report_on
from npuify.fleet.scan import scan
from npuify.fleet.store import Store
from npuify.fleet.workers import cluster
from npuify.fleet.workers.engines import Engine
from npuify.model import NpuifyError

from .conftest import make
from .test_scan import results, states

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
pytestmark = [pytest.mark.thorough, pytest.mark.skipif(os.name != "posix", reason="kills processes")]

_TO_START = 300
"""Seconds after which processes that did not come up will not."""
_WORKER = (
    "import sys, runpy\n"
    "import npuify.fleet.workers.child as child\n"
    'child._PROGRAM = \'import runpy; runpy.run_module("tests.fleet.broken", run_name="__main__")\'\n'
    "from distributed.cli.dask_worker import main\n"
    "main()\n"
)


class Cluster:
    """A scheduler, and workers with one thread each."""

    def __init__(self, folder: Path, workers: int) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        self._folder = folder
        self._started: list[subprocess.Popen[bytes]] = []
        arguments = ["--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
        self.scheduler = self._start(["-m", "distributed.cli.dask_scheduler", *arguments])
        for _ in range(workers):
            options = ["--nthreads", "1", "--nworkers", "1", "--no-nanny", "--no-dashboard"]
            self._start(["-c", _WORKER, self.address, *options, "--local-directory", str(folder / "dask")])
        self._wait_for(workers)

    def _wait_for(self, workers: int) -> None:
        """Until all are there: on a busy machine they take longer to start than a run waits for the first."""
        with distributed.Client(self.address, timeout=_TO_START, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=_TO_START)

    def _start(self, arguments: list[str]) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        with (self._folder / "log").open("ab") as log:
            process = subprocess.Popen([sys.executable, *arguments], env=environment, stdout=log, stderr=log)
        self._started.append(process)
        return process

    def close(self) -> None:
        for one in self._started:
            one.kill()
            one.wait()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[int], Cluster]]:
    made: list[Cluster] = []

    def make_one(workers: int) -> Cluster:
        made.append(Cluster(tmp_path, workers))
        return made[-1]

    yield make_one
    for one in made:
        one.close()


def in_background(place: Path, folder: Path, address: str) -> tuple[threading.Thread, list[Any]]:
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(scan(place, folder, {"cache": False}, Limits(), Engine(address=address)))
        except NpuifyError as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, found


def begun(thread: threading.Thread, *gates: Path) -> list[int]:
    """The workers that wait at the gates, once there is one at each."""
    while True:
        found = [[int(one.name.rpartition("-")[2]) for one in gate.glob("begun-*")] for gate in gates]
        if all(found):
            return [one[0] for one in found]
        assert thread.is_alive()
        thread.join(0.05)


def test_a_worker_that_is_killed_loses_nothing_and_does_nothing_twice(
    tmp_path: Path, start: Callable[[int], Cluster]
) -> None:
    names = ["gate-1", "gate-2", *(f"p{number}" for number in range(10)), "crash"]
    make(tmp_path / "all", *names)
    running = start(3)
    thread, found = in_background(tmp_path / "all", tmp_path / "out", running.address)
    gates = [tmp_path / "all" / "gate-1", tmp_path / "all" / "gate-2"]
    os.kill(begun(thread, *gates)[0], signal.SIGKILL)
    for gate in gates:
        (gate / "go").touch()
    thread.join()
    (report,) = found
    assert not isinstance(report, NpuifyError), report
    assert states(report) == {**dict.fromkeys(names, "runs"), "crash": "crash"}
    assert results(tmp_path / "out") == len(names) and report.ended


def test_a_scheduler_that_goes_away_loses_nothing(
    tmp_path: Path, start: Callable[[int], Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["gate", *(f"p{number}" for number in range(6))]
    make(tmp_path / "all", *names)
    running = start(2)
    thread, found = in_background(tmp_path / "all", tmp_path / "out", running.address)
    begun(thread, tmp_path / "all" / "gate")
    while results(tmp_path / "out") < 6:
        assert thread.is_alive()
        thread.join(0.05)
    monkeypatch.setattr(cluster, "_SECONDS", 3)
    running.scheduler.kill()
    thread.join()
    (error,) = found
    assert "the scheduler cannot be reached" in str(error) and "to go on" in str(error)
    with Store(tmp_path / "out", write=False) as store:
        assert report_on(store).levels["waiting"] == 1
    (tmp_path / "all" / "gate" / "go").touch()
    report = scan(tmp_path / "all", tmp_path / "out", {"cache": False}, Limits(), Engine(jobs=1))
    assert report.run == 1 and states(report) == dict.fromkeys(names, "runs")
    assert results(tmp_path / "out") == len(names)


def test_a_scheduler_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_SECONDS", 1)
    make(tmp_path / "all", "a")
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(NpuifyError, match="cannot be reached"):
        scan(tmp_path / "all", tmp_path / "out", {}, Limits(), Engine(address=address))
