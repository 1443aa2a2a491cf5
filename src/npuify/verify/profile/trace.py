"""One pass over a trace: steps, the host's operators, waiting for data, synchronisation, and the device's work.

PyTorch's own profiler marks events by ``cat``: ``cpu_op``, ``user_annotation``, ``cuda_runtime``, ``kernel``,
``gpu_memcpy``, ``gpu_memset``. torch_npu's trace has processes instead: ``Python``, ``CANN``, ``Ascend Hardware``,
``Communication`` (earlier ``HCCL``), ``Overlap Analysis``, ``Python GC``. Sources: torch_npu/profiler/analysis of the
released package (_trace_event_manager.py, _trace_step_time_parser.py), the vendor's page on trace_view.json, and
output_json.cpp of Kineto.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .intervals import Intervals
from .own_time import OwnTimes
from .stream import events
from .tables import number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NAMES: Final = 20000
"""Different names that are counted; those that come later are counted together."""
_REST: Final = "(others)"
_MARKS: Final = 200_000
"""Fallbacks that are looked up one by one."""
_GPU: Final = {"kernel": "GPU", "gpu_memcpy": "copy", "gpu_memset": "copy"}
_STEP: Final = re.compile(r"ProfilerStep\*?#?\s*(\d+)")
_UNIQUE: Final = re.compile(r"(__\d+)+(_\d+)*(@\d+)?$|_\d+_\d+$")
SYNCS: Final = (
    "AscendCL@aclrtSynchronize",
    "cudaStreamSynchronize",
    "cudaDeviceSynchronize",
    "cudaEventSynchronize",
    "hipStreamSynchronize",
    "hipDeviceSynchronize",
)
LAUNCHES: Final = ("Node@launch", "cudaLaunchKernel", "cuLaunchKernel", "hipLaunchKernel", "hipModuleLaunchKernel")
MEMORY: Final = (
    "AscendCL@aclMallocMemInner",
    "AscendCL@aclrtFreePhysical",
    "AscendCL@aclrtFree",
    "cudaMalloc",
    "cudaFree",
)
COMPILE: Final = "AscendCL@aclopCompileAndExecute"
TO_CPU: Final = "aten::_to_cpu"
"""What PyTorch's CPU fallback calls to bring an operator's arguments to the host (ATen/native/CPUFallback.cpp);
libtorch_npu.so imports that fallback (its symbol at::native::cpu_fallback)."""


class Counter:
    """Count and time by name, for no more names than can be held."""

    def __init__(self) -> None:
        self.count: defaultdict[str, int] = defaultdict(int)
        self.time: defaultdict[str, float] = defaultdict(float)
        self.longest: defaultdict[str, float] = defaultdict(float)

    def add(self, name: str, time: float) -> None:
        """One more event."""
        if name not in self.count and len(self.count) >= _NAMES:
            name = _REST
        self.count[name] += 1
        self.time[name] += time
        if time > self.longest[name]:
            self.longest[name] = time

    def total(self) -> float:
        """All names' time."""
        return sum(self.time.values())

    def matching(self, *starts: str) -> tuple[int, float]:
        """Count and time of names that begin so."""
        found = [name for name in self.count if name.startswith(starts)]
        return sum(self.count[name] for name in found), sum(self.time[name] for name in found)


class Trace:
    """What one pass over a trace gathers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.steps: list[tuple[str, float, float]] = []
        """Name, start and end, in microseconds."""
        self.host = Counter()
        self.own: dict[str, float] = {}
        """Of the same names: time without that of what they call."""
        self.runtime = Counter()
        self.data = Counter()
        self.waits = Intervals()
        """When the program waited for its DataLoader."""
        self.gc = Counter()
        self.kernels = Counter()
        self.cores: dict[str, str] = {}
        """A kernel's name → what runs it."""
        self.communications = Counter()
        self.computing = Intervals()
        self.communicating = Intervals()
        self.device = ""
        self.overlap: defaultdict[str, Intervals] = defaultdict(Intervals)
        """torch_npu's own analysis: ``Computing``, ``Communication``, ``Free``."""
        self.fallbacks = Counter()
        self.notes: list[str] = []
        self.events = 0
        self.first = float("inf")
        self.last = 0.0
        self._processes: dict[Any, str] = {}
        self._unknown: dict[Any, tuple[Counter, Intervals, dict[str, str]]] = {}
        self._moves: list[tuple[float, Any]] = []
        self._own = OwnTimes()


def read_trace(path: Path) -> Trace:
    """Gather what stands in ``path``.

    Raises:
        NpuifyError: it is no trace.
    """
    notes: list[str] = []
    trace = gather(path, lambda: events(path, notes))
    trace.notes += dict.fromkeys(notes)
    return trace


def gather(path: Path, source: Callable[[], Iterator[dict[str, Any]]]) -> Trace:
    """Gather from events; ``source`` gives them anew each time, as a second pass may be needed."""
    trace = Trace(path)
    for event in source():
        phase = event.get("ph")
        if phase == "M":
            if event.get("name") == "process_name":
                trace._processes[event.get("pid")] = str((event.get("args") or {}).get("name", ""))
        elif phase == "X":
            _complete(trace, event)
    _settle(trace)
    if trace._moves:
        _find_fallbacks(trace, source)
    return trace


def _complete(trace: Trace, event: dict[str, Any]) -> None:
    start, duration = number(event.get("ts")), number(event.get("dur"))
    if start is None or duration is None:
        return
    name, kind = str(event.get("name", "")), event.get("cat")
    trace.events += 1
    if kind == "Trace":
        return
    trace.first, trace.last = min(trace.first, start), max(trace.last, start + duration)
    if kind in _GPU:
        _gpu(trace, event, name, start, duration)
    elif kind in ("cuda_runtime", "cuda_driver", "privateuse1_runtime"):
        trace.runtime.add(name, duration)
    elif kind == "gpu_user_annotation":
        return
    elif kind in ("cpu_op", "user_annotation", "python_function", "operator"):
        _host(trace, event, name, kind, start, duration)
    elif isinstance(kind, str) and kind in ("enqueue", "dequeue", "fwdbwd", "async_npu", "ac2g", "overhead"):
        return
    else:
        _process(trace, event, name, start, duration)


def _host(trace: Trace, event: dict[str, Any], name: str, kind: str, start: float, duration: float) -> None:
    step = _STEP.match(name)
    if step is not None:
        trace.steps.append((step[1], start, start + duration))
        return
    if kind == "python_function":
        return
    low = name.lower()
    if "dataloader" in low and ("next" in low or "iter" in low):
        trace.data.add(name, duration)
        trace.waits.add(start, duration)
        return
    if name == TO_CPU:
        if len(trace._moves) < _MARKS:
            trace._moves.append((start, event.get("tid")))
        return
    # Autograd's engine around an operator that follows under its own name, in the same time.
    if not name.startswith("autograd::engine::evaluate_function"):
        trace.host.add(name, duration)
        trace._own.add(event.get("tid"), name, start, duration)


def _gpu(trace: Trace, event: dict[str, Any], name: str, start: float, duration: float) -> None:
    trace.device = "GPU"
    if name.startswith(("nccl", "ncclDevKernel", "rccl")):
        trace.communications.add(name, duration)
        trace.communicating.add(start, duration)
        return
    trace.kernels.add(name, duration)
    trace.cores[name] = _GPU[str(event.get("cat"))]
    # As in torch_npu's analysis, a device that only copies is not computing.
    if event.get("cat") == "kernel":
        trace.computing.add(start, duration)


def _process(trace: Trace, event: dict[str, Any], name: str, start: float, duration: float) -> None:
    """An event that is known by its process only, whose name may stand further down in the file."""
    process = event.get("pid")
    known = trace._processes.get(process, "")
    if known == "CANN" or "@" in name:
        trace.runtime.add(name.split(" ")[0], duration)
    elif known == "Overlap Analysis" or name in ("Free", "Computing", "Communication", "Communication(Not Overlapped)"):
        trace.overlap[name].add(start, duration)
    elif known == "Python GC" or (name == "GC" and not known):
        trace.gc.add("GC", duration)
    else:
        counter, intervals, cores = trace._unknown.setdefault(process, (Counter(), Intervals(), {}))
        counter.add(_UNIQUE.sub("", name), duration)
        intervals.add(start, duration)
        task = (event.get("args") or {}).get("Task Type")
        if isinstance(task, str) and len(cores) < _NAMES:
            cores[_UNIQUE.sub("", name)] = task


def _settle(trace: Trace) -> None:
    """Give the work of each process to what the process turned out to be."""
    for process, (counter, intervals, cores) in trace._unknown.items():
        name = trace._processes.get(process, "")
        if name == "Ascend Hardware" or (not name and cores):
            trace.device = "NPU"
            _join(trace.kernels, counter)
            trace.cores.update(cores)
            _join_intervals(trace.computing, intervals)
        elif name in ("HCCL", "Communication"):
            trace.device = "NPU"
            _join(trace.communications, counter)
            _join_intervals(trace.communicating, intervals)
    trace._unknown.clear()
    trace.own, trace._own = trace._own.by_name(), OwnTimes()
    if trace.overlap:
        trace.device = "NPU"
    trace.steps.sort(key=lambda step: step[1])


def _join(into: Counter, other: Counter) -> None:
    for name, count in other.count.items():
        into.count[name] += count
        into.time[name] += other.time[name]
        into.longest[name] = max(into.longest[name], other.longest[name])


def _join_intervals(into: Intervals, other: Intervals) -> None:
    for start, end in other:
        into.add(start, end - start)


def _find_fallbacks(trace: Trace, source: Callable[[], Iterator[dict[str, Any]]]) -> None:
    """A second pass: which operators the moves to the host were made for, the innermost around each."""
    moves: defaultdict[Any, list[float]] = defaultdict(list)
    for start, thread in sorted(trace._moves, key=lambda one: one[0]):
        moves[thread].append(start)
    inner: dict[tuple[Any, float], tuple[float, float, str]] = {}
    for event in source():
        if event.get("ph") != "X" or event.get("cat") != "cpu_op" or event.get("name") == TO_CPU:
            continue
        starts = moves.get(event.get("tid"))
        begin, duration = number(event.get("ts")), number(event.get("dur"))
        if not starts or begin is None or duration is None:
            continue
        place = bisect_left(starts, begin)
        while place < len(starts) and starts[place] <= begin + duration:
            mark = (event.get("tid"), starts[place])
            if mark not in inner or inner[mark][0] > duration:
                inner[mark] = (duration, begin, str(event.get("name")))
            place += 1
    # One operator moves its arguments more than once: single tensors, and lists of them.
    for _, duration, _, name in {(thread, *found) for (thread, _), found in inner.items()}:
        trace.fallbacks.add(name, duration)
