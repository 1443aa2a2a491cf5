"""A trace as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.trace.result import Support
from npuify.trace.summary import ORDER, TITLES, counts, operators

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.trace.result import TraceResult
    from npuify.trace.summary import Operator

_LINES = 3
"""Lines of the program that are named for an operator with trouble."""


def heading(result: TraceResult) -> str:
    """What was traced, in one line."""
    done = f"{result.steps} step{'s' if result.steps != 1 else ''}" if result.steps else "no step"
    if result.failure is not None:
        done = f"until it failed ({done} of an optimizer)"
    elif not result.stopped:
        done = f"to its end ({done} of an optimizer)"
    return f"{result.script}: {done}, held against torch_npu {result.torch_npu} on {result.soc} (torch {result.torch})"


def remarks(result: TraceResult) -> tuple[str, ...]:
    """What a reader has to know to take the trace for what it is."""
    rows = [
        "Traced on fake tensors: nothing ran on an NPU. Values, speed and limits of kernels are not shown.",
    ]
    if result.device == "cpu" and result.calls:
        rows.append("The program names no NPU: its operators on the CPU are held against the NPU's list.")
    if result.host_calls:
        rows.append(f"{result.host_calls} operators on tensors of the CPU (data, initial values) are not listed.")
    rows += result.notes
    assumed = [read for read in result.reads if not read.computed]
    computed = sum(read.count for read in result.reads if read.computed)
    if computed:
        rows.append(
            f"{computed} time{'s' if computed != 1 else ''} the program needed a tensor's numbers: "
            "the part that leads to them was computed on the CPU."
        )
    for read in assumed:
        rows.append(
            f"{read.file}:{read.line}: {read.what}: assumed {read.value}, since {read.reason}. "
            "Where the program takes another way for other numbers, the trace does not show it."
        )
    return tuple(rows)


def lines(result: TraceResult) -> Iterator[str]:
    """The whole text, line by line."""
    yield heading(result)
    yield ""
    for support, count in counts(result).items():
        if count or support is Support.KERNEL:
            kinds = len({call.name for call in result.of(support)})
            calls = f"{count:>8} call{'s' if count != 1 else ''} of {kinds} operator{'s' if kinds != 1 else ''}"
            yield f"{calls} {TITLES[support]}"
    rows = operators(result)
    for support in ORDER[:3]:
        own = [row for row in rows if row.support is support]
        if own:
            yield ""
            yield f"{TITLES[support][0].upper()}{TITLES[support][1:]}:"
            for row in own:
                yield from _operator(row)
    yield ""
    for support in ORDER[3:]:
        own = [row for row in rows if row.support is support]
        if own:
            yield f"{TITLES[support][0].upper()}{TITLES[support][1:]}:"
            for row in own:
                first = row.calls[0]
                yield f"{row.times:>8}  {row.name}  {first.file}:{first.line}" + (
                    f" and {row.places - 1} more lines" if row.places > 1 else ""
                )
            yield ""
    yield from remarks(result)
    yield (
        f"Traced in {result.seconds:.1f} s ({result.import_seconds:.1f} s before it to import torch), "
        f"{result.peak_memory / 2**20:.0f} MiB of memory at most."
    )
    if result.failure is not None:
        place = f"{result.failure.file}:{result.failure.line}: " if result.failure.file else ""
        yield ""
        yield f"The program failed: {place}{result.failure.kind}: {result.failure.message}"


def _operator(row: Operator) -> Iterator[str]:
    yield f"{row.times:>8}  {row.name}: {row.message}"
    for call in row.calls[:_LINES]:
        yield f"          {call.file}:{call.line} ({call.phase}) {', '.join(call.inputs)}"
    if len(row.calls) > _LINES:
        yield f"          and {len(row.calls) - _LINES} more"
