"""The measures that conditions of the tuning table ask for. What a profile does not hold is no measure, never 0."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from .model import Measure
from .trace import COMPILE, LAUNCHES, MEMORY, SYNCS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .gathered import Gathered, Kernels
    from .model import Fallback, Rank, Step
    from .summary import Shares
    from .trace import Counter

_VIEWS: Final = re.compile(
    r"^(Transpose|TransposeD|StridedSlice|StridedSliceD|Slice|AsStrided|ViewCopy|TensorMove|Contiguous)$"
)
_CONVOLUTION: Final = re.compile(r"conv[123]d|conv3d|Conv2DBackprop", re.IGNORECASE)
_ATTENTION: Final = re.compile(
    r"FlashAttention|FusionAttention|FusedInferAttention|PagedAttention|LaserAttention", re.IGNORECASE
)
_OPTIMIZER: Final = re.compile(r"^Optimizer\.step#(\w+)\.step$")
_HALF: Final = {"FLOAT16", "FP16", "DT_FLOAT16"}
_SINGLE: Final = {"FLOAT", "FP32", "FLOAT32", "DT_FLOAT"}


def measures(
    gathered: Gathered, shares: Shares, steps: list[Step], fallbacks: tuple[Fallback, ...], ranks: tuple[Rank, ...]
) -> dict[str, Measure]:
    """All measures that this profile holds, by name."""
    found = [
        *_of_steps(shares, ranks, gathered),
        *_of_kernels(gathered.kernels, _file(gathered, "kernel_details", "op_summary", "op_statistic")),
        *_of_host(gathered, steps),
        *_of_memory(gathered),
    ]
    if gathered.trace is not None and gathered.trace.events:
        found.append(Measure("fallback_count", float(len(fallbacks)), gathered.trace.path.name))
    for name, value in (gathered.environment or {}).items():
        found.append(Measure(f"env.{name}", value, "profiler_metadata.json"))
    if gathered.largest_message is not None:
        found.append(Measure("largest_message_mb", gathered.largest_message, "communication.json"))
    return {one.name: one for one in found}


def _file(gathered: Gathered, *starts: str) -> str:
    return next((name for name in gathered.files if name.startswith(starts)), "the trace")


def _of_steps(shares: Shares, ranks: tuple[Rank, ...], gathered: Gathered) -> Iterator[Measure]:
    source = _file(gathered, "step_trace_time", "step_trace")
    for name, value in (
        ("computing_share", shares.computing),
        ("communication_share", shares.communication),
        ("exposed_share", shares.exposed),
        ("idle_share", shares.idle),
    ):
        if value is not None:
            yield Measure(name, value, source)
    if shares.data is not None:
        yield Measure("data_share", shares.data, "the trace")
    yield Measure("ranks", float(len(ranks)), "the folders")
    times = [rank.step for rank in ranks if rank.step > 0]
    if len(times) > 1:
        yield Measure("rank_spread", max(times) / min(times) - 1, source)


def _of_kernels(kernels: Kernels, source: str) -> Iterator[Measure]:
    total = kernels.types.total()
    if not total:
        return
    yield Measure("aicpu_share", kernels.by_core.time.get("AI_CPU", 0.0) / total, source)
    yield Measure("aicpu_longest", kernels.aicpu_longest, source)
    for name, pattern in (("noncontiguous_share", _VIEWS), ("conv_share", _CONVOLUTION)):
        yield Measure(name, _time(kernels.types, pattern) / total, source)
    yield Measure("transdata_share", kernels.types.time.get("TransData", 0.0) / total, source)
    softmax = _time(kernels.types, re.compile(r"^Softmax(V2|Grad)?$"))
    batched = _time(kernels.types, re.compile(r"^BatchMatMul"))
    fused = _time(kernels.types, _ATTENTION)
    yield Measure("softmax_share", softmax / total, source)
    yield Measure("unfused_attention", float(bool(softmax and batched and not fused)), source)
    if kernels.data_types.count:
        known = kernels.data_types.total()
        for name, names in (("fp16_share", _HALF), ("fp32_share", _SINGLE)):
            yield Measure(name, sum(kernels.data_types.time.get(one, 0.0) for one in names) / known, source)
        yield Measure("hf32_share", kernels.matrix_hf32 / kernels.matrix, source)
        yield Measure("unaligned_share", kernels.unaligned / total, source)
    if kernels.has_shapes:
        yield Measure("most_shapes", float(max(map(len, kernels.shapes.values()), default=0)), source)
    if kernels.states.count:
        yield Measure("dynamic_share", kernels.states.time.get("dynamic", 0.0) / kernels.states.total(), source)


def _time(counter: Counter, pattern: re.Pattern[str]) -> float:
    return sum(time for name, time in counter.time.items() if pattern.search(name))


def _of_host(gathered: Gathered, steps: list[Step]) -> Iterator[Measure]:
    trace = gathered.trace
    runtime = trace.runtime if trace is not None and trace.runtime.count else gathered.runtime
    if runtime.count:
        source = trace.path.name if trace is not None and runtime is trace.runtime else _file(gathered, "api_statistic")
        syncs, _ = runtime.matching(*SYNCS)
        launches, _ = runtime.matching(*LAUNCHES)
        if launches:
            yield Measure("sync_ratio", syncs / launches, source)
        yield Measure("op_compile_count", float(runtime.matching(COMPILE)[0]), source)
        yield Measure("memory_calls_time", runtime.matching(*MEMORY)[1], source)
    if trace is None or not trace.host.count:
        return
    source, host = trace.path.name, trace.host
    count = max(len(trace.steps), 1)
    yield Measure("items_per_step", host.count.get("aten::item", 0) / count, source)
    yield Measure(
        "syncbn_count", float(sum(n for name, n in host.count.items() if name.lower() == "syncbatchnorm")), source
    )
    yield Measure("data_longest", max(trace.data.longest.values(), default=0.0), source)
    if trace.gc.count:
        yield Measure("gc_longest", max(trace.gc.longest.values()), source)
    fused = any("npu_rms_norm" in name or name == "aten::rms_norm" for name in host.count)
    squared = host.count.get("aten::pow", 0) + host.count.get("aten::square", 0)
    pattern = host.count.get("aten::rsqrt", 0) and squared and host.count.get("aten::mean", 0)
    yield Measure("unfused_rms_norm", float(bool(pattern and not fused)), source)
    optimizers = {match[1]: host.time[name] for name in host.count if (match := _OPTIMIZER.match(name))}
    plain = [name for name in optimizers if not name.startswith("Npu") and "Fused" not in name]
    yield Measure("plain_optimizer", ", ".join(sorted(plain)), source)
    total = sum(end - start for _, start, end in trace.steps)
    if total:
        yield Measure("optimizer_share", min(sum(optimizers.values()) / total, 1.0), source)


def _of_memory(gathered: Gathered) -> Iterator[Measure]:
    if gathered.allocated:
        yield Measure("reserved_over_allocated", gathered.reserved / gathered.allocated, "memory_record.csv")
