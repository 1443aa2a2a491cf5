"""What is gathered of one process's profile before anything is judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from .trace import Counter

if TYPE_CHECKING:
    from .model import Step
    from .trace import Trace


@dataclass
class Kernels:
    """The device's work, as kernel_details.csv or op_summary tells it. Times in microseconds."""

    types: Counter = field(default_factory=Counter)
    cores: dict[str, str] = field(default_factory=dict)
    """Type → what runs it, as most of its kernels say."""
    by_core: Counter = field(default_factory=Counter)
    communications: Counter = field(default_factory=Counter)
    data_types: Counter = field(default_factory=Counter)
    """Of matrix products and convolutions: the first input's type."""
    matrix: float = 0.0
    """Time of matrix products and convolutions."""
    matrix_hf32: float = 0.0
    """Of those, marked as fit for HF32."""
    unaligned: float = 0.0
    """Time of half-precision matrix products with a size that is no multiple of 16."""
    states: Counter = field(default_factory=Counter)
    """``dynamic`` and ``static``."""
    shapes: dict[str, set[str]] = field(default_factory=dict)
    """Type → different input shapes, up to a limit."""
    wait: float = 0.0
    aicpu_longest: float = 0.0
    aicpu_types: Counter = field(default_factory=Counter)
    has_shapes: bool = False


@dataclass
class Gathered:
    """One process's profile."""

    name: str
    folder: Path
    kind: str
    device: str = ""
    files: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    kernels: Kernels = field(default_factory=Kernels)
    host: Counter = field(default_factory=Counter)
    runtime: Counter = field(default_factory=Counter)
    collectives: Counter = field(default_factory=Counter)
    """Of communication.json: kind of collective → count and time."""
    transit: float = 0.0
    waiting: float = 0.0
    """Time in collectives in which nothing was sent, microseconds."""
    largest_message: float | None = None
    """Megabytes."""
    environment: dict[str, str] | None = None
    """What the profiler wrote down of the environment; None: nothing."""
    versions: dict[str, str] = field(default_factory=dict)
    reserved: float = 0.0
    allocated: float = 0.0
    """Peaks of the allocator, megabytes."""
    trace: Trace | None = None
    traces: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
