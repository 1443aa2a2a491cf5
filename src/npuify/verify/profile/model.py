"""The types of this part."""

from __future__ import annotations

from enum import Enum
from typing import Final

import msgspec

from npuify.language import ENGLISH
from npuify.model import Evidence  # noqa: TC001 - a field of a msgspec type

VERSION: Final = 1
"""Of the JSON: raised when something is removed or changes its meaning, not when something is added."""


class Bound(str, Enum):
    """What a step waits for."""

    HOST = "host"
    """The device idles: the host does not feed it fast enough."""
    DATA = "data"
    """As host, and most of that time the program waits for its DataLoader."""
    COMMUNICATION = "communication"
    """More time in communication that nothing hides than in computing."""
    DEVICE = "device"
    """The device computes nearly all the time."""
    UNKNOWN = "unknown"
    """No device's work is in this profile."""


class Step(msgspec.Struct, frozen=True):
    """One step on one device. Times in microseconds."""

    name: str
    device: str
    total: float
    """Computing, communication that nothing hides, and idle time; of a trace without a device: from start to end."""
    computing: float | None = None
    communication: float | None = None
    exposed: float | None = None
    """Communication that no computing hides."""
    idle: float | None = None
    preparing: float | None = None


class Operator(msgspec.Struct, frozen=True):
    """A kind of kernel, or of operator, and its time. Times in microseconds."""

    name: str
    core: str
    """What runs it: ``AI_CORE``, ``AI_VECTOR_CORE``, ``AI_CPU``, ``MIX_AIC``, ``HCCL``, ``GPU`` or ``host``."""
    count: int
    time: float
    share: float
    """Of all kernels' time, 0 to 1."""


class Fallback(msgspec.Struct, frozen=True):
    """An operator that is computed on the host's CPU."""

    name: str
    count: int
    time: float
    """Microseconds on the host; 0 where the profile does not tell."""
    evidence: str
    """``seen`` in the profile, or ``expected``, from the table of a torch_npu release."""


class Measure(msgspec.Struct, frozen=True):
    """One number, or word, that a condition of the tuning table asks for."""

    name: str
    value: float | str
    source: str
    """The file that it was read from, or computed from."""


class Advice(msgspec.Struct, frozen=True):
    """A row of the tuning table whose conditions all hold."""

    id: str
    topic: str
    seen: str
    """The measures that made it hold."""
    advice: str
    caveat: str
    threshold: str
    """Where its threshold comes from."""
    evidence: Evidence
    source: str


class Unjudged(msgspec.Struct, frozen=True):
    """A row that this profile is no answer to."""

    id: str
    topic: str
    lacks: tuple[str, ...]
    """Measures that it does not hold."""


class Rank(msgspec.Struct, frozen=True):
    """One process of the run."""

    name: str
    folder: str
    step: float
    """Median time of a step, microseconds."""
    idle_share: float | None
    exposed_share: float | None


class ProfileReport(msgspec.Struct, frozen=True):
    """The answer of ``npuify verify profile``. Times in microseconds, shares from 0 to 1."""

    version: int
    path: str
    kind: str
    """``torch_npu profiler``, ``msprof``, ``torch profiler``."""
    device: str
    """``NPU``, ``GPU``, or ``none``: nothing of a device is in it, as of a run on the CPU or in simulation."""
    files: tuple[str, ...]
    rank: str
    """The one that the details are of: the slowest."""
    ranks: tuple[Rank, ...]
    steps: tuple[Step, ...]
    step_time: float | None
    """Median, the first one left out where there are three or more."""
    bound: Bound
    said: tuple[str, ...]
    """The answer in sentences, the weightiest first."""
    computing_share: float | None
    exposed_share: float | None
    communication_share: float | None
    idle_share: float | None
    data_share: float | None
    """Of the step, in which the program waits for its DataLoader."""
    operators: tuple[Operator, ...]
    host_operators: tuple[Operator, ...]
    communications: tuple[Operator, ...]
    fallbacks: tuple[Fallback, ...]
    advice: tuple[Advice, ...]
    unjudged: tuple[Unjudged, ...]
    measures: tuple[Measure, ...]
    notes: tuple[str, ...]
    language: str = ENGLISH
    """Of all text for people: ``en`` or ``zh``."""
