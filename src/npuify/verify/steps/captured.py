"""What captures of the two programs show: forward, backward, and whether they agree."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from npuify.language import commas, mark, phrase
from npuify.model import NpuifyError
from npuify.verify.loss.captures import records

from .model import Status, StepResult, Where

if TYPE_CHECKING:
    from collections.abc import Iterable

    from npuify.verify.comparison.result import Comparison

    from .runner import Ran

_OTHER_DATA: Final = (
    "If the program itself uses different data on a CPU, that cannot be compared: bring a capture of the original "
    "from a CUDA machine (--reference), or run the original with the same data (--reference-entry)."
)
_NAME_THE_DEVICE: Final = mark(
    'Name the device in the command, as in --entry "… --device {device}": it becomes npu for the migrated program, and '
    "cpu for the original."
)
_BRING_A_CAPTURE: Final = mark(
    "Where the original runs (on a CUDA machine): npuify verify capture -o reference PROGRAM; then copy the folder "
    "here and pass it with --reference."
)
_MEND_THE_ORIGINAL: Final = mark(
    "Mend the same place in a copy of the original and compare with that; or bring a capture of the original from "
    "where it runs (--reference)."
)
NEEDS_CUDA: Final = re.compile(
    r"not compiled with CUDA|CUDA is not available|is_available\(\) is False|No CUDA GPUs|NVIDIA driver|initialize CUDA"
)


class Benched(Protocol):
    """What of a bench counts here, whichever framework it is for."""

    given: Path | None

    @property
    def where(self) -> Where:
        """On what the migrated program runs."""

    @property
    def reference_device(self) -> str:
        """On what the original runs."""


@dataclass
class CaptureSummary:
    """What one capture holds, counted."""

    ranks: int = 0
    calls: int = 0
    modules: set[str] = field(default_factory=set)
    devices: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    """Modules whose results hold NaN or infinities, in the order of their calls."""
    gradients: int = 0
    broken_gradients: int = 0
    updated: int = 0
    """Parameters that an optimiser was seen to step."""
    optimizers: set[str] = field(default_factory=set)
    losses: list[float] = field(default_factory=list)
    after: list[dict[tuple[str, int], tuple[float | None, float | None]]] = field(default_factory=list)
    """For each rank: a parameter after a step → its mean and norm."""


def summarize(folder: Path) -> CaptureSummary:
    """Count what a capture holds.

    Raises:
        NpuifyError: it cannot be read.
    """
    seen = CaptureSummary()
    for path in sorted(folder.glob("rank*/records.jsonl")):
        seen.ranks += 1
        seen.after.append({})
        for record in records(path):
            _take(seen, record, first=seen.ranks == 1)
    return seen


def _take(seen: CaptureSummary, record: dict[str, Any], *, first: bool) -> None:
    kind = record.get("event")
    if kind == "value" and record.get("kind") == "parameter" and record.get("when") == "after":
        told = record.get("is") or {}
        seen.after[-1][(str(record.get("name")), int(record.get("step", 0)))] = (told.get("mean"), told.get("norm"))
    if not first:
        return
    if kind == "call":
        seen.calls += 1
        seen.modules.add(str(record.get("name", "")))
        outputs = record.get("outputs") or []
        seen.devices.update(str(one.get("device", "")) for one in outputs if one.get("device"))
        if any(one.get("nan") or one.get("inf") for one in outputs):
            seen.broken.append(str(record.get("name", "")))
    elif kind == "gradient":
        seen.gradients += 1
        told = record.get("is") or {}
        seen.broken_gradients += bool(told.get("nan") or told.get("inf"))
    elif kind == "optimizer":
        seen.optimizers.add(str(record.get("class", "")))
        seen.updated = max(
            seen.updated, sum(len(group.get("parameters") or ()) for group in record.get("groups") or ())
        )
    elif kind == "loss":
        try:
            seen.losses.append(float(record["value"]))
        except (KeyError, TypeError, ValueError):
            return


_COMPARED: Final = "Comparison with the original, module by module"


def forward(bench: Benched, ran: Ran, seen: CaptureSummary | None) -> StepResult:
    """Whether the migrated model's forward pass ran on the target, and gave numbers."""
    title = "Forward pass of the migrated program"
    if seen is None or not seen.calls:
        return StepResult(
            "forward",
            title,
            Status.FAILED,
            bench.where,
            # What a program that was killed had done is not known: it writes what it saw after each step.
            ran.in_a_sentence()
            if ran.timed_out
            else phrase("Before any module returned a result it {why}", why=ran.why()),
            ran.seen(),
            ran.advice(),
            (ran.shown,),
            ran.seconds,
        )
    on = commas(phrase("{count} on {device}", count=count, device=name) for name, count in seen.devices.most_common(3))
    evidence = [
        phrase(
            "{calls} calls of {number} modules; results: {value}",
            calls=seen.calls,
            number=len(seen.modules),
            value=on or "none are tensors",
        )
    ]
    kinds = {name.split(":")[0] for name in seen.devices}
    if kinds and "npu" not in kinds:
        return StepResult(
            "forward",
            title,
            Status.FAILED,
            Where.CPU,
            phrase("The modules ran on {kinds}, but none on an NPU.", kinds=commas(sorted(kinds))),
            tuple(evidence),
            "Make the program use the NPU: specify the device in the command, as --device={device}.",
            (ran.shown,),
            ran.seconds,
        )
    if seen.broken:
        named = ", ".join(dict.fromkeys(seen.broken[:5]))
        return StepResult(
            "forward",
            title,
            Status.FAILED,
            bench.where,
            phrase("Results hold NaN or infinities, first in {named}.", named=named),
            tuple(evidence),
            "If the reference has the same, masks may be the cause: see the comparison.",
            (ran.shown,),
            ran.seconds,
        )
    return StepResult(
        "forward",
        title,
        Status.PASSED,
        bench.where,
        "It runs, and all results are finite.",
        tuple(evidence),
        "",
        (ran.shown,),
        ran.seconds,
    )


def backward(bench: Benched, ran: Ran, seen: CaptureSummary | None) -> StepResult:
    """Whether gradients came back, were numbers, and an optimiser stepped."""
    title = "Backward pass and update of the migrated program"
    if seen is None or not seen.calls:
        return StepResult("backward", title, Status.NOT_RUN, Where.NOWHERE, "The forward pass failed.")
    optimizers = ", ".join(seen.optimizers) or "no optimizer"
    evidence = phrase(
        "{gradients} gradients of results, {updated} parameters in {optimizers}",
        gradients=seen.gradients,
        updated=seen.updated,
        optimizers=optimizers,
    )

    def made(status: Status, message: str, more: Iterable[str] = (), advice: str = "") -> StepResult:
        where = Where.NOWHERE if status is Status.NOT_RUN else bench.where
        return StepResult("backward", title, status, where, message, (evidence, *more), advice, (ran.shown,))

    if not seen.gradients and not seen.updated:
        if ran.fine:
            return made(Status.NOT_RUN, "The program has no backward pass: it is inference-only.")
        return made(
            Status.FAILED, phrase("Before a gradient was computed it {why}", why=ran.why()), ran.seen(), ran.advice()
        )
    if seen.broken_gradients:
        return made(
            Status.FAILED,
            phrase("{broken_gradients} gradients hold NaN or infinities.", broken_gradients=seen.broken_gradients),
            advice="With a GradScaler the first steps may overflow and be skipped: compare with the reference.",
        )
    if not seen.updated:
        more = ran.seen() if not ran.fine else ()
        return made(Status.FAILED, "Gradients were computed, but no optimizer stepped.", more)
    return made(Status.PASSED, "All gradients are finite, and the optimizer stepped.")


def compare(bench: Benched, reference: Path | None, target: Path, why: str, ended: str = "") -> StepResult:
    """Hold the captures of both programs against each other, module by module.

    Args:
        bench: on what both ran.
        reference: the original's capture; None: there is none, and ``why`` says why.
        target: the migrated program's.
        ended: why the original ended before it was through, where the migrated program was.
    """
    title = _COMPARED
    on = (
        "a given capture"
        if bench.given is not None
        else phrase("the original on {reference_device}", reference_device=bench.reference_device.upper())
    )
    if reference is None:
        return StepResult(
            "compare",
            title,
            Status.NOT_RUN,
            Where.NOWHERE,
            why,
            advice=_NAME_THE_DEVICE if NEEDS_CUDA.search(why) else _BRING_A_CAPTURE,
        )
    if importlib.util.find_spec("numpy") is None:
        return StepResult(
            "compare",
            title,
            Status.NOT_RUN,
            Where.NOWHERE,
            "The Python that runs npuify has no NumPy, which the comparison needs.",
            advice="pip install numpy",
        )
    from npuify.verify.comparison.compare import compare as hold

    try:
        result = hold(reference, target)
    except NpuifyError as error:
        return StepResult("compare", title, Status.FAILED, bench.where, error.message, advice=error.advice)
    return _compared(bench, (reference, target), result, on, ended)


def _compared(bench: Benched, captures: tuple[Path, Path], result: Comparison, on: str, ended: str) -> StepResult:
    """The step for what the comparison found; ``on`` says in words what the reference ran on."""
    title = _COMPARED
    evidence = [
        *([] if result.agrees else [result.verdict]),
        phrase(
            "against {on}: {matched} calls matched, the largest error of a result {worst:.2g}",
            on=on,
            matched=result.matched,
            worst=result.worst,
        ),
        *result.remarks[:4],
    ]
    if result.agrees:
        return StepResult("compare", title, Status.PASSED, bench.where, "They agree up to rounding.", tuple(evidence))
    first = result.first
    if first is not None and first.kind == "ended" and ended:
        return StepResult(
            "compare",
            title,
            Status.NOT_RUN,
            bench.where,
            phrase(
                "The original {why}, and the migrated program does not. The {matched} calls up to there agree; what "
                "follows cannot be compared.",
                why=ended,
                matched=result.matched,
            ),
            tuple(evidence[1:]),
            _MEND_THE_ORIGINAL,
        )
    told = (
        phrase("First in {name}: {message}", name=first.name, message=first.message)
        if first is not None
        else result.verdict
    )
    return StepResult(
        "compare",
        title,
        Status.FAILED,
        bench.where,
        told,
        tuple(evidence),
        _OTHER_DATA
        if first is not None and first.kind == "data-order"
        else phrase(
            "npuify verify compare {reference} {target} --format html shows everything.",
            reference=captures[0],
            target=captures[1],
        ),
    )
