"""A trace as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.language import phrase, plural, told
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
    done = plural("{count} step", "{count} steps", result.steps) if result.steps else phrase("no step")
    if result.failure is not None:
        done = phrase("until it failed ({done} of an optimizer)", done=done)
    elif not result.stopped:
        done = phrase("to its end ({done} of an optimizer)", done=done)
    return phrase(
        "{script}: {done}, held against torch_npu {torch_npu} on {soc} (torch {torch})",
        script=result.script,
        done=done,
        torch_npu=result.torch_npu,
        soc=result.soc,
        torch=result.torch,
    )


def remarks(result: TraceResult) -> tuple[str, ...]:
    """What a reader has to know to take the trace for what it is."""
    rows = [
        phrase("Traced on fake tensors: nothing ran on an NPU. Values, speed and limits of kernels are not shown."),
    ]
    if result.device == "cpu" and result.calls:
        rows.append(phrase("The program names no NPU: its operators on the CPU are held against the NPU's list."))
    if result.host_calls:
        rows.append(
            phrase(
                "{host_calls} operators on tensors of the CPU (data, initial values) are not listed.",
                host_calls=result.host_calls,
            )
        )
    rows += map(told, result.notes)
    assumed = [read for read in result.reads if not read.computed]
    computed = sum(read.count for read in result.reads if read.computed)
    if computed:
        rows.append(
            plural(
                "{count} time the program needed a tensor's numbers: the part that leads to them was computed on the "
                "CPU.",
                "{count} times the program needed a tensor's numbers: the part that leads to them was computed on the "
                "CPU.",
                computed,
            )
        )
    for read in assumed:
        rows.append(
            phrase(
                "{file}:{line}: {what}: assumed {value}, since {reason}. Where the program takes "
                "another way for other numbers, the trace does not show it.",
                file=read.file,
                line=read.line,
                what=read.what,
                value=read.value,
                reason=read.reason,
            )
        )
    return tuple(rows)


def _heading(support: Support) -> str:
    title = phrase(TITLES[support])
    return phrase("{title}:", title=title[0].upper() + title[1:])


def lines(result: TraceResult) -> Iterator[str]:
    """The whole text, line by line."""
    yield heading(result)
    yield ""
    for support, count in counts(result).items():
        if count or support is Support.KERNEL:
            kinds = len({call.name for call in result.of(support)})
            calls = plural("{count:>8} call", "{count:>8} calls", count)
            operators_in_words = plural("{count} operator", "{count} operators", kinds)
            yield phrase(
                "{calls} of {operators} {where}",
                calls=calls,
                operators=operators_in_words,
                where=phrase(TITLES[support]),
            )
    rows = operators(result)
    for support in ORDER[:3]:
        own = [row for row in rows if row.support is support]
        if own:
            yield ""
            yield _heading(support)
            for row in own:
                yield from _operator(row)
    yield ""
    for support in ORDER[3:]:
        own = [row for row in rows if row.support is support]
        if own:
            yield _heading(support)
            for row in own:
                first = row.calls[0]
                yield f"{row.times:>8}  {row.name}  {first.file}:{first.line}" + (
                    phrase(" and {value} more lines", value=row.places - 1) if row.places > 1 else ""
                )
            yield ""
    yield from remarks(result)
    yield (
        phrase(
            "Traced in {seconds:.1f} s ({import_seconds:.1f} s before it to import torch), "
            "{value:.0f} MiB of memory at most.",
            seconds=result.seconds,
            import_seconds=result.import_seconds,
            value=result.peak_memory / 2**20,
        )
    )
    if result.failure is not None:
        place = f"{result.failure.file}:{result.failure.line}: " if result.failure.file else ""
        yield ""
        yield phrase(
            "The program failed: {place}{kind}: {message}",
            place=place,
            kind=result.failure.kind,
            message=result.failure.message,
        )


def _operator(row: Operator) -> Iterator[str]:
    yield f"{row.times:>8}  {row.name}: {row.message}"
    for call in row.calls[:_LINES]:
        yield f"          {call.file}:{call.line} ({call.phase}) {', '.join(call.inputs)}"
    if len(row.calls) > _LINES:
        yield phrase("          and {value} more", value=len(row.calls) - _LINES)
