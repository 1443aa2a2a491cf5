"""Threads that scan and migrate at the same time wait for each other; both phases of the work tell how far they are."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import npuify
from npuify.options import Options

OPTIONS = Options(cache=False, jobs=1)


def project_in(folder: Path, count: int = 3) -> Path:
    folder.mkdir()
    for number in range(count):
        (folder / f"part{number}.py").write_text("import torch\ntorch.cuda.synchronize()\n")
    return folder


def test_one_thread_at_a_time_uses_the_engine(tmp_path: Path) -> None:
    first, second = project_in(tmp_path / "first"), project_in(tmp_path / "second")
    begun, entered = threading.Event(), threading.Event()
    together: list[bool] = []

    def wait(done: int, total: int) -> None:
        begun.set()
        if done == 1:
            together.append(entered.wait(0.3))

    def other() -> None:
        assert begun.wait(20)
        npuify.migrate(second, None, OPTIONS, mode="diff", preparing=lambda done, total: entered.set())

    with ThreadPoolExecutor(2) as threads:
        work = [threads.submit(npuify.scan, [first], OPTIONS, progress=wait), threads.submit(other)]
        for one in work:
            one.result(60)
    assert together == [False] and entered.is_set()


def test_both_phases_tell_how_far_they_are(tmp_path: Path) -> None:
    project = project_in(tmp_path / "project")
    (project / "README.md").write_text("nothing of CUDA's\n")
    told: list[tuple[str, int, int]] = []
    npuify.scan(
        [project],
        OPTIONS,
        progress=lambda done, total: told.append(("scan", done, total)),
        preparing=lambda done, total: told.append(("read", done, total)),
    )
    assert told[0] == ("read", 0, 0)
    phases = [phase for phase, _, _ in told]
    assert phases == sorted(phases), "files are read before they are scanned"
    assert {("read", 3, 3), ("scan", 3, 3)} <= set(told)
