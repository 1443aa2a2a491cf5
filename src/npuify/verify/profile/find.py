"""Tell what a path holds: outputs of torch_npu's profiler, of msprof, or traces of PyTorch's profiler."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from npuify.language import phrase
from npuify.model import NpuifyError

from .gathered import Gathered

_OUTPUT: Final = "ASCEND_PROFILER_OUTPUT"
_DEEPEST: Final = 5
_TRACE: Final = re.compile(r"trace.*\.json(\.gz)?$|\.pt\.trace\.json(\.gz)?$", re.IGNORECASE)
_MSPROF: Final = re.compile(
    r"^(op_summary|op_statistic|msprof|api_statistic|task_time|step_trace)(_slice)?_\d+.*\.(csv|json)$"
)
_NOT_ANALYSED: Final = (
    "there is only the profiler's raw data, not its analysis; on the machine where it ran: "
    'python -c "from torch_npu.profiler.profiler import analyse; analyse({folder!r})"'
)


def find_profiles(path: Path) -> list[Gathered]:
    """One for each process whose profile ``path`` is or holds, in the order of their names.

    Raises:
        NpuifyError: there is none, or only raw data that have not been analysed yet.
    """
    if not path.exists():
        raise NpuifyError("no such file or folder", file=str(path))
    if path.is_file():
        if re.search(r"\.json(\.gz)?$", path.name):
            return [Gathered(path.name, path.parent, "torch profiler", traces=[path])]
        raise NpuifyError(
            "is not a profile",
            advice="specify the profiler's output folder, or a trace (*.json, *.json.gz)",
            file=str(path),
        )
    outputs: list[Path] = []
    msprof: dict[Path, None] = {}
    traces: list[Path] = []
    raw: list[Path] = []
    for folder, names, files in os.walk(path):
        here = Path(folder)
        if len(here.relative_to(path).parts) >= _DEEPEST:
            names.clear()
        names.sort()
        if here.name == _OUTPUT:
            outputs.append(here)
            names.clear()
            continue
        if here.name.startswith("PROF_") or here.name == "FRAMEWORK":
            raw.append(here)
        for name in sorted(files):
            if _MSPROF.match(name):
                msprof[here] = None
            elif _TRACE.search(name):
                traces.append(here / name)
            elif re.fullmatch(r"(kernel_details|step_trace_time|op_statistic)\.csv", name) and here not in outputs:
                outputs.append(here)
    if outputs:
        return _torch_npu(outputs, path)
    if msprof:
        return [Gathered(_name(folder, path), folder, "msprof") for folder in sorted(msprof)]
    if traces:
        return [Gathered(_name(one, path), one.parent, "torch profiler", traces=[one]) for one in traces]
    if raw:
        raise NpuifyError(phrase(_NOT_ANALYSED, folder=str(path)), file=str(path))
    raise NpuifyError(
        "no profile was found in this folder",
        advice="expected *_ascend_pt/ASCEND_PROFILER_OUTPUT (torch_npu), op_summary_*.csv (msprof), or *.pt.trace.json",
        file=str(path),
    )


def _torch_npu(outputs: list[Path], path: Path) -> list[Gathered]:
    found = []
    for output in sorted(outputs):
        parent = output.parent if output.name == _OUTPUT else output
        ranks = [
            match[1]
            for one in sorted(parent.glob("profiler_info_*.json"))
            if (match := re.search(r"_(\d+)\.json$", one.name))
        ]
        name = f"rank {ranks[0]}" if ranks else _name(parent, path)
        trace = output / "trace_view.json"
        traces = [trace] if trace.is_file() else sorted(output.glob("ascend_pytorch_profiler*.db"))[:1]
        found.append(Gathered(name, output, "torch_npu profiler", traces=traces))
    return found


def _name(one: Path, path: Path) -> str:
    return str(one.relative_to(path)).replace(os.sep, "/") if one != path else one.name
