"""What a comparison came to."""

from __future__ import annotations

from typing import Literal

import msgspec

from npuify.model import Evidence, NpuifyError

from .metrics import Metrics  # noqa: TC001  msgspec reads it

Kind = Literal[
    "data-order",
    "weights",
    "structure",
    "mode",
    "setting",
    "forward",
    "backward",
    "overflow",
    "float64-lost",
    "loss",
    "frozen",
    "optimizer",
    "gradient-scale",
    "update",
    "buffer",
    "choice",
    "ended",
    "drift",
]

TITLES: dict[str, str] = {
    "data-order": "the data comes in a different order",
    "weights": "a parameter starts from different values",
    "structure": "the programs call different modules",
    "mode": "training mode differs",
    "setting": "its settings differ",
    "forward": "its inputs agree, but its results do not",
    "backward": "its incoming gradients agree, but its outgoing gradients do not",
    "overflow": "numbers overflow on only one side",
    "float64-lost": "float64 became a less precise type",
    "loss": "the loss differs",
    "frozen": "a parameter is updated on only one side",
    "optimizer": "the optimizer's settings differ",
    "gradient-scale": "the optimizer gets gradients of a different magnitude",
    "update": "the optimizer's step has a different magnitude",
    "buffer": "its buffers for evaluation differ",
    "ended": "one of the programs failed",
    "choice": "rounding changed a choice",
    "drift": "errors grow beyond the limit without a single cause",
}


class Refused(NpuifyError):
    """The comparison would prove nothing, or something else than it seems to. ``name`` says why, for programs."""

    def __init__(self, name: str, message: str, advice: str = "") -> None:
        super().__init__(f"refused ({name}): {message}", advice=advice)
        self.name = name


class Explanation(msgspec.Struct, frozen=True):
    """What may be behind a difference."""

    name: str
    text: str
    expected: bool
    """Whether the device explains it, so that the program need not be at fault."""
    evidence: Evidence


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that differs."""

    kind: Kind
    severity: Literal["error", "warning", "note"]
    name: str
    """The module or parameter."""
    message: str
    rank: int = 0
    step: int = 0
    phase: str = ""
    at: int = 0
    """When A did it: later things have larger numbers."""
    place: str = ""
    where: str = ""
    """Which part of the module: an argument, a result, before which module within it."""
    error: float | None = None
    """The error of what it gave."""
    before: float | None = None
    """The error of what it was given."""
    limit: float | None = None
    metrics: Metrics | None = None
    explanations: tuple[Explanation, ...] = ()


class Point(msgspec.Struct, frozen=True):
    """One call of a module, for the plots and the table."""

    order: int
    name: str
    step: int
    phase: str
    direction: Literal["forward", "backward"]
    before: float
    """Error of what went in."""
    error: float
    """Error of what came out."""
    limit: float
    cosine: float | None
    max_relative_error: float | None
    mean_relative_error: float | None
    ulp_share: float | None
    share_over_thousandth: float | None
    operator: bool = False
    amplified: bool = False
    """Whether it came out at least ten times as wrong as it went in."""
    failed: tuple[str, ...] = ()
    """For operators: the published limits that it breaks."""


class LossPair(msgspec.Struct, frozen=True):
    """The loss of one backward pass on both sides."""

    step: int
    number: int
    a: float
    b: float
    relative_error: float


class Side(msgspec.Struct, frozen=True):
    """What was compared."""

    source: str
    form: str
    device: str
    device_name: str
    torch: str
    torch_npu: str
    simulated: bool
    ranks: int
    steps: int
    calls: int
    gradients: int
    seed: int | None
    notes: tuple[str, ...]
    tensorflow: str = ""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The whole of it."""

    agrees: bool
    verdict: str
    a: Side
    b: Side
    first: Difference | None
    """The earliest error: what to look at."""
    differences: tuple[Difference, ...]
    points: tuple[Point, ...]
    losses: tuple[LossPair, ...]
    remarks: tuple[str, ...]
    """What to know to take it for what it is."""
    matched: int
    """Calls of A that B has, too."""
    unmatched: tuple[int, int]
    """Calls that only A, and only B, has."""
    worst: float
    """The largest error of any result of a module, in forward."""
