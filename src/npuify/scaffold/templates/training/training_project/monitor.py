"""What a run reports: log messages, metrics, and its profile."""

from __future__ import annotations

import json
import logging
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from training_project import device as devices

if TYPE_CHECKING:
    from training_project.config import Profile
    from training_project.processes import Process


def configure_logging(process: Process) -> None:
    """The first process logs everything, the others only warnings and errors; each line names its process."""
    logging.basicConfig(
        level=logging.INFO if process.first else logging.WARNING,
        format=f"%(asctime)s rank {process.rank} %(levelname)s %(message)s",
        force=True,
    )


class Metrics:
    """Metrics by step, one JSON object per line, written by the first process."""

    def __init__(self, path: Path, process: Process, resumed_step: int) -> None:
        self.path = path if process.first else None
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        # What was written after the checkpoint will be written again.
        kept = [line for line in lines if json.loads(line)["step"] <= resumed_step]
        self.path.write_text("".join(line + "\n" for line in kept), encoding="utf-8")

    def write(self, **values: Any) -> None:
        """One line; JSON has no Inf and no NaN, and null stands for them."""
        if self.path is not None:
            values = {
                name: None if isinstance(value, float) and not math.isfinite(value) else value
                for name, value in values.items()
            }
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(values) + "\n")


class Speed:
    """Samples per second since the last call; the first steps after a start count for the first call."""

    def __init__(self, process: Process) -> None:
        self.process, self.samples, self.since = process, 0, time.perf_counter()

    def add(self, samples: int) -> None:
        """Count what all processes have seen."""
        self.samples += samples

    def ask(self) -> float:
        """Wait for the device, and start again."""
        devices.synchronize(self.process.device)
        now = time.perf_counter()
        speed, self.samples, self.since = self.samples / max(now - self.since, 1e-9), 0, now
        return speed


class Profiler:
    """Records some steps of the first process; does nothing where it is off."""

    def __init__(self, settings: Profile, process: Process, folder: Path) -> None:
        self.inner = None
        if settings.steps and process.first:
            self.inner = devices.profiler(process.device, settings.start, settings.steps, folder)

    def __enter__(self) -> Profiler:
        if self.inner is not None:
            self.inner.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        if self.inner is not None:
            self.inner.__exit__(*error)

    def step(self) -> None:
        """After each step."""
        if self.inner is not None:
            self.inner.step()
