"""The types of this part."""

from __future__ import annotations

from enum import Enum
from typing import Final

import msgspec

from npuify.language import ENGLISH

VERSION: Final = 1
"""Of the JSON: raised when something is removed or changes its meaning, not when something is added."""


class Status(str, Enum):
    """What became of a step."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_RUN = "not run"


class Where(str, Enum):
    """On what a step ran. Nothing but ``hardware`` says anything of a real card."""

    HARDWARE = "hardware"
    SIMULATION = "simulation"
    CPU = "the host's CPU"
    NOWHERE = "nowhere"


class StepResult(msgspec.Struct, frozen=True):
    """One step of the acceptance."""

    name: str
    """``forward``, ``backward``, ``compare``, ``iterations``, ``loss``, ``resume`` or ``cards``."""
    title: str
    status: Status
    where: Where
    """On what the migrated program ran."""
    message: str
    evidence: tuple[str, ...] = ()
    """What was seen."""
    advice: str = ""
    commands: tuple[str, ...] = ()
    """What was run, or what would do it."""
    seconds: float = 0.0


class Devices(msgspec.Struct, frozen=True):
    """What the Python that runs the programs has."""

    python: str
    torch: str
    torch_npu: str
    """Empty: not installed."""
    cuda: int
    """GPUs that torch can use."""
    npu: int
    """Real NPUs that torch_npu can use."""
    tensorflow: str = ""
    """For a program of TensorFlow's: its version; torch is not asked for then."""
    adapter: str = ""
    """The adapter that is installed; empty: none."""


class AcceptanceReport(msgspec.Struct, frozen=True):
    """The answer of ``npuify verify steps``."""

    version: int
    project: str
    entry: str
    reference: str
    """What the original program ran on: ``CUDA``, ``CPU``, or a given capture."""
    target: str
    """What the migrated program ran on: ``NPU`` or ``simulated NPU``."""
    devices: Devices
    prepared: tuple[str, ...]
    """What was done before the first step."""
    steps: tuple[StepResult, ...]
    verdict: str
    folder: str = ""
    """Where captures and logs were left; empty: nowhere."""
    asked: tuple[str, ...] = ()
    """The options that it was asked for with, in the words of the command line, so that it can be repeated."""
    original_fails_too: bool = False
    """Whether the original ended in the same way, before any result: the migration is not the cause."""
    original_failed: str = ""
    """Why the original ended before it was through, where the migrated program was, and both agree up to there."""
    language: str = ENGLISH
    """Of all text for people: ``en`` or ``zh``."""
