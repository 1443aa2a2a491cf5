"""Numbers of one process: the shares of a step, its operators, and what it waits for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from .model import Bound, Fallback, Operator, Step
from .trace import Counter

if TYPE_CHECKING:
    from collections.abc import Callable

    from .gathered import Gathered
    from .intervals import Intervals
    from .trace import Trace

IDLE: Final = 0.1
"""Share of idle time above which a step is bound by its host. Source: msprof-analyze, overall summary."""
_TOP: Final = 15
_LIBRARY: Final = re.compile(r"aten::_?(cudnn|miopen|mkldnn|cuda|efficientzero|flash|efficient)_")
_FEWEST: Final = 3
"""Steps from which on the first is left out: it warms up."""


@dataclass(frozen=True)
class Shares:
    """Parts of a step, 0 to 1; None: the profile does not tell."""

    time: float | None
    computing: float | None
    communication: float | None
    exposed: float | None
    idle: float | None
    data: float | None


def steps_of(gathered: Gathered) -> list[Step]:
    """The steps of one process: from its table, else from its trace."""
    if gathered.steps:
        return gathered.steps
    trace = gathered.trace
    if trace is None or not trace.events:
        return []
    spans = trace.steps or ([("", trace.first, trace.last)] if _has_device(trace) else [])
    computing, communicating = _work(trace)
    if not (computing or communicating):
        return [Step(name, "", end - start) for name, start, end in trace.steps]
    made = []
    for name, start, end in spans:
        compute, communicate = computing.cut(start, end), communicating.cut(start, end)
        exposed = communicate.total() - compute.shared(communicate)
        busy = compute.total() + exposed
        made.append(
            Step(name, "", end - start, compute.total(), communicate.total(), exposed, max(end - start - busy, 0.0))
        )
    return made


def _has_device(trace: Trace) -> bool:
    return bool(trace.computing or trace.communicating or trace.overlap)


def _work(trace: Trace) -> tuple[Intervals, Intervals]:
    if trace.overlap:
        return trace.overlap["Computing"], trace.overlap["Communication"]
    return trace.computing, trace.communicating


def shares(gathered: Gathered, steps: list[Step]) -> Shares:
    """The shares of all steps but the first together, and the median of their times."""
    used = steps[1:] if len(steps) >= _FEWEST else steps
    total = sum(step.total for step in used)
    if not total:
        return Shares(None, None, None, None, None, _data_share(gathered))
    return Shares(
        median(step.total for step in used),
        _part([step.computing for step in used], total),
        _part([step.communication for step in used], total),
        _part([step.exposed for step in used], total),
        _part([step.idle for step in used], total),
        _data_share(gathered),
    )


def _part(times: list[float | None], total: float) -> float | None:
    known = [time for time in times if time is not None]
    return min(sum(known) / total, 1.0) if known and len(known) == len(times) else None


def _data_share(gathered: Gathered) -> float | None:
    """The share of the steps in the trace in which the program waited for data.

    A step of PyTorch's profiler ends at its ``step()``, so that the wait before a batch lies in the step it is for.
    """
    trace = gathered.trace
    if trace is None or not trace.steps:
        return None
    spans = trace.steps[1:] if len(trace.steps) >= _FEWEST else trace.steps
    total = sum(end - start for _, start, end in spans)
    if total <= 0 or not trace.waits:
        return 0.0 if total > 0 else None
    return min(sum(trace.waits.within(start, end) for _, start, end in spans) / total, 1.0)


def bound(told: Shares) -> Bound:
    """What the steps wait for."""
    if told.idle is None or told.computing is None:
        return Bound.UNKNOWN
    if told.idle > IDLE:
        return Bound.DATA if told.data is not None and told.data > told.idle / 2 else Bound.HOST
    if told.exposed is not None and told.exposed > told.computing:
        return Bound.COMMUNICATION
    return Bound.DEVICE


def operators(gathered: Gathered) -> tuple[Operator, ...]:
    """The kinds of kernels that take most of the device's time."""
    kernels = gathered.kernels
    if kernels.types.count:
        return _top(kernels.types, lambda name: kernels.cores.get(name) or "unknown")
    trace = gathered.trace
    if trace is None:
        return ()
    return _top(trace.kernels, lambda name: trace.cores.get(name, "NPU" if trace.device == "NPU" else "GPU"))


def host_operators(gathered: Gathered) -> tuple[Operator, ...]:
    """Operators of the framework by the time that they take on the host by themselves."""
    if gathered.host.count:
        return _top(gathered.host, lambda _: "host")
    trace = gathered.trace
    if trace is None:
        return ()
    own = Counter()
    own.count.update(trace.host.count)
    own.time.update({name: trace.own.get(name, time) for name, time in trace.host.time.items()})
    whole = sum(end - start for _, start, end in trace.steps) or trace.last - trace.first
    return _top(own, lambda _: "host", whole if trace.events else 0.0)


def communications(gathered: Gathered) -> tuple[Operator, ...]:
    """Collectives by their time."""
    for counter in (gathered.collectives, gathered.kernels.communications):
        if counter.count:
            return _top(counter, lambda _: "HCCL")
    trace = gathered.trace
    if trace is None:
        return ()
    return _top(trace.communications, lambda _: "HCCL" if trace.device == "NPU" else "NCCL")


def _top(counter: Counter, core: Callable[[str], str], whole: float | None = None) -> tuple[Operator, ...]:
    total = counter.total() if whole is None else whole
    names = sorted(counter.time, key=lambda name: -counter.time[name])[:_TOP]
    return tuple(
        Operator(
            name, core(name), counter.count[name], counter.time[name], counter.time[name] / total if total else 0.0
        )
        for name in names
    )


def fallbacks(gathered: Gathered, torch_npu: str = "") -> tuple[Fallback, ...]:
    """Operators on the host's CPU: those seen in the trace, else those that a release's table has no kernel for."""
    trace = gathered.trace
    if trace is None:
        return ()
    if trace.fallbacks.count:
        seen = trace.fallbacks
        names = sorted(seen.time, key=lambda name: -seen.time[name])
        return tuple(Fallback(name, seen.count[name], seen.time[name], "seen") for name in names)
    if trace.device == "NPU" or not torch_npu:
        return ()
    import npuify.knowledge as knowledge

    support = knowledge.load(torch_npu).operator_support
    found = []
    for name, count in sorted(trace.host.count.items()):
        overloads = support.get(name.removeprefix("aten::")) if name.startswith("aten::") else None
        # Profiles name no overload: only an operator without any kernel is told. Those of CUDA's own libraries are
        # chosen by PyTorch, and on an NPU others are.
        if overloads and not _LIBRARY.match(name) and set(overloads.values()) == {"fallback"}:
            found.append(Fallback(name, count, 0.0, "expected"))
    return tuple(found)
