"""Read what torch_npu's profiler and msprof write, beside the trace.

Columns: torch_npu/profiler/analysis of the released package (prof_common_func/_csv_headers.py, prof_view/*.py), and the
vendor's pages on kernel_details.csv, op_summary, op_statistic, api_statistic and communication.json. All are optional:
which are there depends on the release and on the level of profiling.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from npuify.language import phrase

from .model import Step
from .tables import first, number, rows

if TYPE_CHECKING:
    from .gathered import Gathered, Kernels

_MATRIX: Final = re.compile(r"matmul|conv[23]d|conv3d|gemm|batchmatmul", re.IGNORECASE)
_NAME: Final = re.compile(r"^aclnn\w*?_(?:\w*AiCore_)?(\w+)$")
_COLLECTIVE: Final = re.compile(r"^hcom_|^HCCL|^hccl|AicpuKernel$")
_SHAPES: Final = 2000
"""Different shapes of one type that are told apart."""
_LARGEST_JSON: Final = 1 << 29
_INFO: Final = ("profiler_info.json", "profiler_metadata.json")


def read_ascend(gathered: Gathered) -> None:
    """Read the CSV and JSON files of one process into ``gathered``; a file that is missing is left out.

    Raises:
        NpuifyError: a file cannot be read.
    """
    folder = gathered.folder
    gathered.device = "NPU"
    for path in sorted(folder.glob("*.csv")):
        name = re.sub(r"(_slice)?(_\d+)+\.csv$|\.csv$", "", path.name)
        reader = {
            "step_trace_time": _step_trace_time,
            "step_trace": _step_trace,
            "kernel_details": _kernels,
            "op_summary": _kernels,
            "api_statistic": _api,
            "memory_record": _memory,
            "communication_statistic": _communication_statistic,
        }.get(name)
        if reader is not None:
            reader(gathered, path)
            gathered.files.append(path.name)
    if not gathered.kernels.types.count:
        for path in sorted(folder.glob("op_statistic*.csv")):
            _statistic(gathered, path)
            gathered.files.append(path.name)
    path = folder / "operator_details.csv"
    if path.is_file():
        _operators(gathered, path)
        gathered.files.append(path.name)
    path = folder / "communication.json"
    if path.is_file():
        _communication(gathered, path)
    _about(gathered)
    if gathered.kind == "msprof":
        gathered.traces = sorted(folder.glob("msprof_*.json"))[:1]


def _step_trace_time(gathered: Gathered, path: Path) -> None:
    for row in rows(path):
        computing, idle = number(row.get("Computing")), number(row.get("Free"))
        exposed = number(row.get("Communication(Not Overlapped)"))
        if computing is None or idle is None:
            continue
        gathered.steps.append(
            Step(
                row.get("Step", ""),
                row.get("Device_id", ""),
                computing + idle + (exposed or 0.0),
                computing,
                number(row.get("Communication")),
                exposed,
                idle,
                number(row.get("Preparing")),
            )
        )


def _step_trace(gathered: Gathered, path: Path) -> None:
    """msprof's table of iterations: it has no more than their length."""
    for row in rows(path):
        time = number(row.get("Iteration Time(us)"))
        if time:
            gathered.steps.append(Step(row.get("Iteration ID", ""), row.get("Device_id", ""), time))


def _kernels(gathered: Gathered, path: Path) -> None:
    for row in rows(path):
        take_kernel(gathered.kernels, row)


def take_kernel(kernels: Kernels, row: dict[str, str]) -> None:
    """Count one row of kernel_details.csv or of op_summary."""
    time = number(first(row, "Duration(us)", "Task Duration(us)"))
    if time is None:
        return
    name = first(row, "Name", "Op Name")
    kind = first(row, "Type", "OP Type")
    core = first(row, "Accelerator Core", "Task Type")
    if _COLLECTIVE.match(name) or _COLLECTIVE.match(kind) or core in ("HCCL", "COMMUNICATION"):
        kernels.communications.add(collective(kind if kind.startswith("hcom") else name), time)
        return
    if kind in ("", "N/A"):
        match = _NAME.match(name)
        kind = match[1] if match is not None else name
    kernels.types.add(kind, time)
    kernels.by_core.add(core or "unknown", time)
    kernels.cores.setdefault(kind, core)
    kernels.wait += number(first(row, "Wait Time(us)", "Task Wait Time(us)")) or 0.0
    if core == "AI_CPU":
        kernels.aicpu_types.add(kind, time)
        kernels.aicpu_longest = max(kernels.aicpu_longest, time)
    if row.get("OP State") in ("dynamic", "static"):
        kernels.states.add(row["OP State"], time)
    _shapes(kernels, row, kind, time)


def _shapes(kernels: Kernels, row: dict[str, str], kind: str, time: float) -> None:
    shapes, types = row.get("Input Shapes", ""), row.get("Input Data Types", "")
    if shapes and shapes != "N/A":
        kernels.has_shapes = True
        seen = kernels.shapes.setdefault(kind, set())
        if len(seen) < _SHAPES:
            seen.add(shapes)
    if not _MATRIX.search(kind):
        return
    kernels.matrix += time
    if row.get("HF32 Eligible", "").upper() == "YES":
        kernels.matrix_hf32 += time
    data_type = re.split(r"[;,]", types.strip('"'), maxsplit=1)[0].strip().upper()
    if data_type and data_type != "N/A":
        kernels.data_types.add(data_type, time)
    if data_type in ("FLOAT16", "FP16", "DT_BF16", "BF16", "BFLOAT16") and "conv" not in kind.lower():
        sizes = [
            [int(size) for size in re.findall(r"\d+", one)][-2:]
            for one in shapes.strip('"').split(";")[:2]
            if one.strip('"')
        ]
        if sizes and any(size % 16 for one in sizes for size in one):
            kernels.unaligned += time


def collective(name: str) -> str:
    """``hcom_allReduce__123_4_1`` as ``hcom_allReduce``."""
    return re.sub(r"(__?\d+)+(@.*)?$|_$", "", name.split("@")[0])


def _statistic(gathered: Gathered, path: Path) -> None:
    kernels = gathered.kernels
    for row in rows(path):
        time, count = number(row.get("Total Time(us)")), number(row.get("Count"))
        kind, core = row.get("OP Type", ""), row.get("Core Type", "")
        if time is None or not kind:
            continue
        kernels.types.add(kind, time)
        kernels.types.count[kind] += int(count or 1) - 1
        kernels.by_core.add(core or "unknown", time)
        kernels.cores.setdefault(kind, core)
        if core == "AI_CPU":
            kernels.aicpu_types.add(kind, time)
            kernels.aicpu_longest = max(kernels.aicpu_longest, number(row.get("Max Time(us)")) or 0.0)


def _operators(gathered: Gathered, path: Path) -> None:
    for row in rows(path):
        time = number(row.get("Host Self Duration(us)"))
        if time is not None:
            gathered.host.add(row.get("Name", ""), time)


def _api(gathered: Gathered, path: Path) -> None:
    for row in rows(path):
        time, count = number(row.get("Time(us)")), number(row.get("Count"))
        name, level = row.get("API Name", ""), row.get("Level", "")
        if time is None or not name:
            continue
        full = {"acl": f"AscendCL@{name}", "node": f"Node@{name}"}.get(level.lower(), name)
        gathered.runtime.add(full, time)
        gathered.runtime.count[full] += int(count or 1) - 1
        gathered.runtime.longest[full] = max(gathered.runtime.longest[full], number(row.get("Max(us)")) or 0.0)


def _memory(gathered: Gathered, path: Path) -> None:
    for row in rows(path):
        if row.get("Component") not in ("PTA", "PTA+GE"):
            continue
        gathered.reserved = max(gathered.reserved, number(first(row, "Total Reserved(MB)", "Total Reserved(KB)")) or 0)
        gathered.allocated = max(
            gathered.allocated, number(first(row, "Total Allocated(MB)", "Total Allocated(KB)")) or 0
        )


def _communication_statistic(gathered: Gathered, path: Path) -> None:
    for row in rows(path):
        time, count = number(row.get("Total Time(us)")), number(row.get("Count"))
        kind = row.get("OP Type", "")
        if time is not None and kind:
            gathered.collectives.add(kind, time)
            gathered.collectives.count[kind] += int(count or 1) - 1


def _communication(gathered: Gathered, path: Path) -> None:
    content = _json(gathered, path)
    if not isinstance(content, dict):
        return
    gathered.files.append(path.name)
    for step in content.values():
        for group in step.values() if isinstance(step, dict) else ():
            for name, told in group.items() if isinstance(group, dict) else ():
                if name.lower().startswith("total") or not isinstance(told, dict):
                    continue
                times = told.get("Communication Time Info") or {}
                gathered.collectives.add(collective(name), 1000 * (number(times.get("Elapse Time(ms)")) or 0.0))
                gathered.transit += 1000 * (number(times.get("Transit Time(ms)")) or 0.0)
                gathered.waiting += 1000 * (number(times.get("Wait Time(ms)")) or 0.0)
                for transport in (told.get("Communication Bandwidth Info") or {}).values():
                    sizes = transport.get("Size Distribution") if isinstance(transport, dict) else None
                    for size in sizes or {}:
                        found = number(size)
                        if found is not None:
                            gathered.largest_message = max(gathered.largest_message or 0.0, found)


def _about(gathered: Gathered) -> None:
    """Versions and environment, which stand beside the folder with the tables."""
    parent = gathered.folder.parent
    for path in (*sorted(parent.glob("profiler_info*.json")), parent / _INFO[1]):
        if not path.is_file():
            continue
        content = _json(gathered, path)
        if not isinstance(content, dict):
            continue
        gathered.files.append(path.name)
        for name in ("torch_npu_version", "cann_version"):
            if content.get(name):
                gathered.versions[name.removesuffix("_version")] = str(content[name])
        if isinstance(content.get("ENV_VARIABLES"), dict):
            gathered.environment = {str(name): str(value) for name, value in content["ENV_VARIABLES"].items()}


def _json(gathered: Gathered, path: Path) -> Any:
    try:
        if path.stat().st_size > _LARGEST_JSON:
            gathered.notes.append(phrase("{name} is larger than 512 MiB and was ignored", name=path.name))
            return None
        return json.loads(path.read_bytes().decode("utf-8", "replace"))
    except (OSError, ValueError) as error:
        gathered.notes.append(phrase("{name} could not be read: {error}", name=path.name, error=error))
        return None
