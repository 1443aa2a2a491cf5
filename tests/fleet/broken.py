"""A process that examines projects, in which those with some names break it: crash, hang, grow, exit, wait."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from npuify.fleet import examine
from npuify.fleet.workers import inside

if TYPE_CHECKING:
    from npuify.fleet.model import Outcome, Task

_usual = examine.examine


def _examine(task: Task, stage: object = lambda: None) -> Outcome:
    name = task.source.name
    if name.startswith("crash"):
        os.abort()
    if name.startswith("exit"):
        sys.stdout.write("not for whoever listens\n")
        os._exit(3)
    if name.startswith("hang"):
        (Path(task.source.place) / "begun").touch()
        time.sleep(3600)
    if name.startswith("gate"):
        (Path(task.source.place) / f"begun-{os.getppid()}").touch()
        while not (Path(task.source.place) / "go").exists():
            time.sleep(0.02)
    if name.startswith("grow"):
        kept = []
        while True:
            kept.append(bytearray(b"x") * (8 << 20))
            time.sleep(0.01)
    return _usual(task, stage)  # type: ignore[arg-type]


if __name__ == "__main__":
    examine.examine = _examine
    inside.main()
