"""``npuify verify profile``: from a path to a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from npuify.language import commas, phrase
from npuify.model import NpuifyError

from .advise import advise
from .ascend import read_ascend
from .database import read_databases, read_trace_of
from .find import find_profiles
from .measures import measures
from .model import VERSION, Bound, Fallback, ProfileReport, Rank
from .summary import (
    Shares,
    bound,
    communications,
    fallbacks,
    host_operators,
    operators,
    shares,
    steps_of,
)
from .trace import read_trace

if TYPE_CHECKING:
    from .gathered import Gathered


def read_profile(path: Path, *, rank: str = "", torch_npu: str = "", trace: bool = True) -> ProfileReport:
    """Read what a profiler wrote and say where the time goes.

    Args:
        path: a folder of torch_npu's profiler, of msprof or of PyTorch's, or a trace.
        rank: whose details are told; empty: the slowest.
        torch_npu: the release whose table tells which operators of a profile without an NPU would run on the CPU;
            empty: the newest.
        trace: read the trace too; without it less is known, and large profiles are read in no time.

    Raises:
        NpuifyError: there is no profile, it was not analysed yet, or has no such rank.
    """
    found = find_profiles(path)
    for one in found:
        if one.kind != "torch profiler":
            read_ascend(one)
            if not (one.steps or one.kernels.types.count):
                read_databases(one)
    chosen = _chosen(found, rank, path, trace)
    if trace:
        _read_trace(chosen)
    steps = steps_of(chosen)
    told = shares(chosen, steps)
    device = (chosen.trace.device if chosen.trace is not None else "") or chosen.device
    if chosen.kind == "torch_npu profiler" and not (chosen.steps or chosen.kernels.types.count):
        device = chosen.trace.device if chosen.trace is not None else ""
    device = device or "none"
    if not torch_npu:
        from npuify.knowledge import choose_release

        torch_npu = choose_release(None, None).torch_npu
    missing = fallbacks(chosen, torch_npu)
    ranks = tuple(_rank(one) for one in found)
    numbers = measures(chosen, told, steps, missing, ranks)
    advice, unjudged = advise(numbers, device)
    kind = bound(told)
    notes = [*chosen.notes, *(chosen.trace.notes if chosen.trace is not None else [])]
    return ProfileReport(
        version=VERSION,
        path=str(path),
        kind=chosen.kind,
        device=device,
        files=(*chosen.files, *([chosen.trace.path.name] if chosen.trace is not None else [])),
        rank=chosen.name,
        ranks=ranks,
        steps=tuple(steps),
        step_time=told.time,
        bound=kind,
        said=tuple(_said(kind, told, device, missing, ranks, chosen, torch_npu)),
        computing_share=told.computing,
        exposed_share=told.exposed,
        communication_share=told.communication,
        idle_share=told.idle,
        data_share=told.data,
        operators=operators(chosen),
        host_operators=host_operators(chosen),
        communications=communications(chosen),
        fallbacks=missing,
        advice=advice,
        unjudged=unjudged,
        measures=tuple(numbers.values()),
        notes=tuple(notes),
    )


def _chosen(found: list[Gathered], rank: str, path: Path, trace: bool) -> Gathered:
    if rank:
        for one in found:
            if rank in (one.name, one.name.removeprefix("rank ")):
                return one
        names = ", ".join(one.name for one in found[:16])
        raise NpuifyError(
            phrase("there is no rank {rank!r} in this profile", rank=rank),
            advice=phrase("it has: {names}", names=names),
            file=str(path),
        )
    if len(found) > 1 and trace and not any(one.steps for one in found):
        # Without tables only the traces tell how long a step is, and the largest is the one with most in it.
        return max(found, key=lambda one: sum(trace.stat().st_size for trace in one.traces))
    return max(found, key=lambda one: _median(one))


def _median(one: Gathered) -> float:
    return shares(one, steps_of(one)).time or 0.0


def _read_trace(one: Gathered) -> None:
    for path in one.traces[:1]:
        one.trace = read_trace_of(path) if path.suffix == ".db" else read_trace(path)
    if one.trace is not None and not one.trace.events:
        one.notes.append("the trace contains no events with a duration")


def _rank(one: Gathered) -> Rank:
    told = shares(one, steps_of(one))
    return Rank(one.name, str(one.folder), told.time or 0.0, told.idle, told.exposed)


def _bound_in_words(kind: Bound, told: Shares, device: str) -> str:
    """What holds the step up, in a sentence."""
    if kind is Bound.HOST:
        return phrase("Host-bound: the device idles, or only copies, for {idle:.0%} of the step.", idle=told.idle)
    if kind is Bound.DATA:
        return phrase(
            "Data-bound: the device idles for {idle:.0%} of the step; {data:.0%} is waiting for data.",
            idle=told.idle,
            data=told.data,
        )
    if kind is Bound.COMMUNICATION:
        return phrase(
            "Communication-bound: {exposed:.0%} of the step is communication that no computing hides.",
            exposed=told.exposed,
        )
    if kind is Bound.DEVICE:
        return phrase("Device-bound: it computes for {computing:.0%} of the step.", computing=told.computing)
    if device == "none":
        return phrase(
            "This profile contains no device data, like one of a run on the CPU or a simulated NPU: it shows what the "
            "host does, but nothing about an NPU's speed."
        )
    return phrase("The profile has no breakdown of the step time: it has no step_trace_time.csv and no steps.")


def _said(
    kind: Bound,
    told: Shares,
    device: str,
    missing: tuple[Fallback, ...],
    ranks: tuple[Rank, ...],
    chosen: Gathered,
    torch_npu: str,
) -> list[str]:
    said = [_bound_in_words(kind, told, device)]
    if told.exposed and kind is not Bound.COMMUNICATION:
        said.append(phrase("Exposed communication takes {exposed:.1%} of the step.", exposed=told.exposed))
    if told.data and kind is not Bound.DATA and told.data >= 0.01:
        said.append(phrase("The program waits for its DataLoader in {data:.1%} of the step.", data=told.data))
    seen = [one for one in missing if one.evidence == "seen"]
    expected = [one for one in missing if one.evidence == "expected"]
    if seen:
        said.append(phrase("Computed on the host's CPU: {seen}.", seen=commas(one.name for one in seen[:6])))
    if expected:
        said.append(
            phrase(
                "torch_npu {torch_npu} has no kernel for {expected}: they would run on the CPU (from "
                "the release's table; not observed here).",
                torch_npu=torch_npu,
                expected=commas(one.name for one in expected[:6]),
            )
        )
    cpu = chosen.kernels.aicpu_types
    total = chosen.kernels.types.total()
    if cpu.count and total:
        names = sorted(cpu.time, key=lambda name: -cpu.time[name])[:5]
        said.append(
            phrase(
                "On the AI CPU: {names} ({value:.1%} of the kernels' time).",
                names=commas(names),
                value=cpu.total() / total,
            )
        )
    times = [rank.step for rank in ranks if rank.step]
    if len(times) > 1:
        said.append(
            phrase(
                "{number} processes, steps of {value:.2f} to {value2:.2f} ms.",
                number=len(ranks),
                value=min(times) / 1000,
                value2=max(times) / 1000,
            )
        )
    return said
