"""What a trace says: every operator of a step, held against what a torch_npu release has for it."""

from __future__ import annotations

from enum import Enum

import msgspec

from npuify.model import Evidence  # noqa: TC001  msgspec reads it


class Support(str, Enum):
    """What a release has for an operator."""

    KERNEL = "kernel"
    """It runs on the NPU."""
    COMPOSITE = "composite"
    """PyTorch makes it of other operators, which are listed as well where they run."""
    FALLBACK = "fallback"
    """There is no NPU kernel: it runs on the host's CPU, with copies there and back, and a warning."""
    TYPE = "type"
    """The release's documentation does not name one of the types that it is given."""
    UNSUPPORTED = "unsupported"
    """The release does not have it."""


class Call(msgspec.Struct, frozen=True):
    """Calls of one operator with the same types and shapes from one line."""

    name: str
    """With namespace and overload: ``aten::add.Tensor``."""
    phase: str
    """``forward``, ``backward`` or ``optimizer``."""
    inputs: tuple[str, ...]
    """Types and shapes, such as ``float32[16, 8]``."""
    outputs: tuple[str, ...]
    file: str
    line: int
    count: int
    bytes: int
    """New memory of one call's results."""
    support: Support
    message: str
    evidence: Evidence
    source: str


class ValueRead(msgspec.Struct, frozen=True):
    """A place where the program needed numbers, which a trace does not have by itself."""

    what: str
    file: str
    line: int
    count: int
    computed: bool
    """The part that leads to the numbers was computed on the CPU; else they were assumed."""
    reason: str = ""
    value: str = ""


class Failure(msgspec.Struct, frozen=True):
    """What ended the program before its end."""

    kind: str
    message: str
    file: str = ""
    line: int = 0


class TraceResult(msgspec.Struct, frozen=True):
    """One traced program. Calls are ordered as the program made them."""

    script: str
    torch_npu: str
    torch: str
    soc: str
    """The chip, as ``torch.npu.get_device_name()`` gives it."""
    device: str
    """``npu``, or ``cpu`` for a program that names no NPU: its CPU operators are then held against the NPU's list."""
    steps: int
    stopped: bool
    """It was ended after the steps asked for; else it came to its own end."""
    seconds: float
    import_seconds: float
    """Time until the program began, most of which torch takes to be imported."""
    peak_memory: int
    """The largest memory of the traced process, in bytes."""
    calls: tuple[Call, ...]
    host_calls: int
    """Operators on tensors of the CPU in a program for the NPU; they are not listed."""
    reads: tuple[ValueRead, ...]
    notes: tuple[str, ...]
    failure: Failure | None = None

    def of(self, support: Support) -> tuple[Call, ...]:
        """The calls with this support."""
        return tuple(call for call in self.calls if call.support is support)
