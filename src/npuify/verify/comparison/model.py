"""What a capture holds, as the comparison reads it: the same for npuify's own captures and for msprobe's dumps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Tensor:
    """A tensor at one place of the program."""

    slot: str
    """Its argument's name, or its place in the results."""
    dtype: str
    shape: tuple[int, ...]
    device: str = ""
    requires_grad: bool = False
    count: int = 0
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    norm: float | None = None
    nan: int = 0
    inf: int = 0
    zero: int = 0
    rows: tuple[float, ...] = ()
    """A signature of each row, for inputs of models."""
    key: Any = None
    """Tells its values from those of others."""
    load: Callable[[], np.ndarray[Any, Any] | None] | None = None
    """Gives the values that were kept, as float64 or integers; None where there are none."""

    @property
    def size(self) -> float:
        """The root mean square of its values."""
        return (self.norm or 0.0) / math.sqrt(max(self.count, 1))


@dataclass(frozen=True)
class Call:
    """One call of a module or of an operator."""

    name: str
    step: int
    phase: str
    root: int
    """Which call of its model in this step."""
    number: int
    """Which call of this module within that."""
    start: int
    end: int
    within: int
    """``start`` of the call that it is part of; 0: the program's own code."""
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    training: bool = True
    autocast: str = ""
    operator: bool = False
    place: str = ""
    numbers: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> tuple[Any, ...]:
        """What the same call of another capture has, too."""
        return (self.step, self.phase, self.root, self.name, self.number)


@dataclass(frozen=True)
class Gradient:
    """The gradient of one tensor: an input or a result of some calls."""

    step: int
    at: int
    targets: tuple[tuple[int, str], ...]
    """``start`` of a call, and ``input.slot`` or ``output.slot``."""
    tensor: Tensor


@dataclass(frozen=True)
class Value:
    """A parameter, a buffer, or a parameter's gradient at some time."""

    kind: str
    """``parameter``, ``buffer`` or ``gradient``."""
    when: str
    """``start``, ``after`` a step, ``backward`` (as it came), ``used`` (by the optimizer), ``none`` (there is none)."""
    name: str
    step: int
    at: int
    optimizer: int
    tensor: Tensor | None


@dataclass(frozen=True)
class Loss:
    """A value that backward began from, without a scaler's factor."""

    step: int
    number: int
    at: int
    value: float
    scale: float
    dtype: str


@dataclass(frozen=True)
class OptimizerStep:
    """The settings with which an optimizer took a step."""

    step: int
    number: int
    at: int
    kind: str
    groups: tuple[tuple[dict[str, Any], tuple[str, ...]], ...]
    """Settings, and the names of the parameters that they are for."""


@dataclass(frozen=True)
class Module:
    """What is known of a module whatever it is called with."""

    name: str
    kind: str
    place: str
    settings: dict[str, Any]
    package: str = ""
    """Where its class comes from: the first part of its module's name."""


@dataclass
class Rank:
    """One process of a capture."""

    rank: int
    process: dict[str, Any]
    calls: list[Call] = field(default_factory=list)
    gradients: list[Gradient] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    optimizers: list[OptimizerStep] = field(default_factory=list)
    modules: dict[str, Module] = field(default_factory=dict)
    seeds: list[int] = field(default_factory=list)
    loaders: list[dict[str, Any]] = field(default_factory=list)
    switches: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def host(self) -> bool:
        """Whether a CPU computed it: itself, or for a simulated NPU."""
        return self.device == "cpu" or (self.device == "npu" and bool(self.process.get("simulated")))

    @property
    def device(self) -> str:
        """The kind of device that the model ran on; empty where the capture does not say."""
        seen: dict[str, int] = {}
        for call in self.calls:
            for tensor in call.outputs:
                seen[tensor.device] = seen.get(tensor.device, 0) + 1
        away = {kind: count for kind, count in seen.items() if kind not in ("cpu", "")}
        chosen = away or seen
        return max(chosen, key=lambda kind: chosen[kind]) if chosen else ""


@dataclass
class Capture:
    """A whole capture."""

    source: str
    form: str
    """``npuify`` or ``msprobe``."""
    run: str
    settings: dict[str, Any]
    arguments: tuple[str, ...]
    ranks: list[Rank]
    notes: list[str] = field(default_factory=list)
    code: int = 0
    """What the program ended with; 0 also where it was stopped after the steps that were asked for."""

    @property
    def device(self) -> str:
        """``cpu``, ``cuda``, ``npu`` or ``simulated npu``."""
        first = self.ranks[0]
        return "simulated npu" if first.device == "npu" and first.process.get("simulated") else first.device

    @property
    def device_name(self) -> str:
        """The device's own name, where the capture has it."""
        first = self.ranks[0]
        return str(first.process.get("devices", {}).get(first.device, ""))
