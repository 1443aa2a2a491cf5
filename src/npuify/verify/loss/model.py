"""The types of this part: a curve, and what is said of two of them."""

from __future__ import annotations

from enum import Enum

import msgspec

from npuify.language import ENGLISH, phrase
from npuify.model import NpuifyError


class Curve(msgspec.Struct, frozen=True):
    """One loss over the steps of one run."""

    file: str
    """Where it was read, as it was named on the command line."""
    kind: str
    """``csv``, ``json lines``, ``trainer state``, ``json``, ``tensorboard``, ``mlflow``, ``log`` or ``capture``."""
    metric: str
    """Its name there, such as ``train/loss``."""
    steps: tuple[int, ...]
    """Strictly increasing."""
    values: tuple[float, ...]
    """As many as steps; may hold NaN and infinities."""
    counted: bool = False
    """Whether the file names no steps, so that points were counted from 1."""
    notes: tuple[str, ...] = ()
    """What a reader of the result should know: lines left out, steps done twice."""
    device: str = ""
    """What computed it, where the file tells: ``cuda``, ``npu``, ``npu (simulated)``, ``cpu``."""


class Verdict(str, Enum):
    """What two curves come to."""

    ALIGNED = "aligned"
    """Both the first steps and the long run agree."""
    UNCERTAIN = "uncertain"
    """They differ from step to step, yet agree on average: another run of the reference may do the same."""
    DIFFERENT = "different"
    """They do not agree."""


class Part(msgspec.Struct, frozen=True):
    """A stretch of steps judged by itself. Errors are relative to the reference: 0.01 is 1 %."""

    first_step: int
    last_step: int
    points: int
    mean_error: float
    max_error: float
    max_at: int
    """The step with the largest error."""
    bias: float
    """The mean of the signed errors: above zero, the target's loss is the higher one."""
    aligned: bool


class Spike(msgspec.Struct, frozen=True):
    """A step whose loss stands far above its neighbours'."""

    step: int
    value: float
    usual: float
    """The median of the loss around it."""


class LossReport(msgspec.Struct, frozen=True):
    """The answer of ``npuify verify loss``."""

    version: int
    reference: Curve
    target: Curve
    tolerance: float
    verdict: Verdict
    said: tuple[str, ...]
    """The verdict in sentences, the weightiest first."""
    advice: tuple[str, ...]
    first: Part
    long_run: Part | None
    """Missing where there are no more steps than the first."""
    smoothed_error: float
    """The mean error of both curves' moving averages; the noise of single steps is gone from it."""
    window: int
    """Steps in the moving average."""
    diverges_at: int | None
    """From this step on the smoothed curves stay apart by more than the tolerance."""
    spikes_reference: tuple[Spike, ...]
    spikes_target: tuple[Spike, ...]
    not_finite_reference: int | None
    """The first step with NaN or infinity."""
    not_finite_target: int | None
    identical: bool
    """Whether all values are the same to the last digit."""
    final_reference: float
    final_target: float
    """Means over the last window."""
    language: str = ENGLISH
    """Of all text for people: ``en`` or ``zh``."""


class Refusal(NpuifyError):
    """Two curves that say nothing about each other. ``name`` is stable, for scripts."""

    def __init__(self, name: str, message: str, *, advice: str = "") -> None:
        super().__init__(
            phrase("these curves cannot be compared ({name}): {message}", name=name, message=message), advice=advice
        )
        self.name = name
