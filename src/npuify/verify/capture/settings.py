"""What ``npuify verify capture`` was asked for, as the environment carries it to the program and all its children."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass

VARIABLE = "NPUIFY_CAPTURE"


@dataclass(frozen=True)
class Settings:
    """One capture."""

    folder: str = ""
    """Where each process writes its own folder; absolute."""
    run: str = ""
    """What tells this run from every other."""
    steps: int = 2
    """Steps of the optimizer after which the program is stopped; for a program without one, calls of its model."""
    level: str = "module"
    """``module``, or ``operator`` for the functions that modules call, too."""
    samples: int = 1024
    """Values kept of each tensor, at places that depend on its size only."""
    seed: int = 1234
    dropout: str = "off"
    """``off``, ``same`` (masks from the CPU's generator) or ``keep``."""
    calls: int = 2
    """Calls of one model that are recorded in one step, those with and those without gradients apart."""
    limit: int = 4 << 30
    """Bytes of values that one process writes at most."""
    root: str = ""
    """The folder of the program, for the places named in the capture."""

    def environment(self) -> dict[str, str]:
        """As variables of the environment."""
        return {VARIABLE: json.dumps(asdict(self))}


def from_environment() -> Settings:
    """The settings that a parent ``npuify verify capture`` left."""
    return Settings(**json.loads(os.environ[VARIABLE]))
