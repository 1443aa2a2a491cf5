"""Read the databases that torch_npu's profiler writes with ``ExportType.Db``: SQLite files.

``ascend_pytorch_profiler*.db`` holds kernels (TASK, COMPUTE_TASK_INFO), collectives (COMMUNICATION_OP), the host's
operators (PYTORCH_API), calls of CANN (CANN_API), steps (STEP_TIME) and garbage collections (GC_RECORD);
``analysis.db`` how steps divide (StepTraceTime). Times are nanoseconds, in StepTraceTime microseconds; names are
numbers of STRING_IDS. Sources: DbConstant and TableColumnsManager in
torch_npu/profiler/analysis/prof_common_func/_constant.py; the vendor's pages on these databases.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from npuify.language import phrase
from npuify.model import NpuifyError

from .ascend import collective, take_kernel
from .model import Step
from .trace import Trace, gather

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .gathered import Gathered

_LEVELS: Final = {"acl": "AscendCL@", "node": "Node@"}
_PROCESSES: Final = ((7, "CANN"), (8, "Python GC"), (9, "Ascend Hardware"), (10, "Communication"))
_CALLS: Final = "SELECT (SELECT value FROM STRING_IDS WHERE id = name), startNs, endNs, globalTid, type"
_KERNEL_COLUMNS: Final = {
    "name": "Name",
    "opType": "Type",
    "taskType": "Accelerator Core",
    "inputShapes": "Input Shapes",
    "inputDataTypes": "Input Data Types",
    "opState": "OP State",
    "hf32Eligible": "HF32 Eligible",
}
"""Numbers of strings in COMPUTE_TASK_INFO → the columns of kernel_details.csv."""


def read_databases(gathered: Gathered) -> None:
    """Read the databases of one process into ``gathered``.

    Raises:
        NpuifyError: a database cannot be read.
    """
    for path in sorted(gathered.folder.glob("*.db")):
        with closing(_opened(path)) as database:
            try:
                tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
                if "StepTraceTime" in tables and not gathered.steps:
                    _steps(gathered, database)
                if {"TASK", "COMPUTE_TASK_INFO", "STRING_IDS"} <= tables:
                    _kernels(gathered, database)
                if {"COMMUNICATION_OP", "STRING_IDS"} <= tables:
                    _collectives(gathered, database)
                if "META_DATA" in tables:
                    _about(gathered, database)
            except sqlite3.Error as error:
                raise NpuifyError(phrase("cannot be read: {error}", error=error), file=str(path)) from None
        gathered.device = "NPU"
        gathered.files.append(path.name)


def read_trace_of(path: Path) -> Trace:
    """The host's operators, calls and steps of a database, as if they stood in a trace.

    Raises:
        NpuifyError: it cannot be read.
    """
    try:
        return gather(path, lambda: _events(path))
    except sqlite3.Error as error:
        raise NpuifyError(phrase("cannot be read: {error}", error=error), file=str(path)) from None


def _opened(path: Path) -> sqlite3.Connection:
    """The database, for reading only: nothing is written beside it."""
    try:
        return sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1", uri=True)
    except sqlite3.Error as error:
        raise NpuifyError(phrase("cannot be opened: {error}", error=error), file=str(path)) from None


def _columns(database: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in database.execute(phrase("PRAGMA table_info({table})", table=table))}


def _steps(gathered: Gathered, database: sqlite3.Connection) -> None:
    query = (
        "SELECT deviceId, step, computing, communication, communication_not_overlapped, free, preparing "
        "FROM StepTraceTime"
    )
    for device, step, computing, communication, exposed, idle, preparing in database.execute(query):
        if computing is None or idle is None:
            continue
        gathered.steps.append(
            Step(
                str(step or ""),
                str(device),
                computing + idle + (exposed or 0.0),
                computing,
                communication,
                exposed,
                idle,
                preparing,
            )
        )


def _kernels(gathered: Gathered, database: sqlite3.Connection) -> None:
    known = [name for name in _KERNEL_COLUMNS if name in _columns(database, "COMPUTE_TASK_INFO")]
    strings = ", ".join(phrase("(SELECT value FROM STRING_IDS WHERE id = info.{name})", name=name) for name in known)
    query = phrase(
        "SELECT (TASK.endNs - TASK.startNs) / 1000.0, {strings} FROM COMPUTE_TASK_INFO AS info "
        "JOIN TASK ON TASK.globalTaskId = info.globalTaskId",
        strings=strings,
    )
    for time, *values in database.execute(query):
        row = {_KERNEL_COLUMNS[name]: str(value or "") for name, value in zip(known, values, strict=True)}
        take_kernel(gathered.kernels, {**row, "Duration(us)": str(time)})


def _collectives(gathered: Gathered, database: sqlite3.Connection) -> None:
    query = "SELECT (SELECT value FROM STRING_IDS WHERE id = opName), (endNs - startNs) / 1000.0 FROM COMMUNICATION_OP"
    for name, time in database.execute(query):
        gathered.collectives.add(collective(str(name)), float(time))


def _about(gathered: Gathered, database: sqlite3.Connection) -> None:
    for name, value in database.execute("SELECT name, value FROM META_DATA"):
        if name == "ENV_VARIABLES":
            try:
                told = json.loads(value)
            except (TypeError, ValueError):
                continue
            if isinstance(told, dict):
                gathered.environment = {str(key): str(one) for key, one in told.items()}


def _events(path: Path) -> Iterator[dict[str, Any]]:
    """Rows of the tables as events of a trace, in microseconds."""
    with closing(_opened(path)) as database:
        tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for process, name in _PROCESSES:
            yield {"ph": "M", "name": "process_name", "pid": process, "args": {"name": name}}
        named = False
        if {"PYTORCH_API", "STRING_IDS"} <= tables:
            kinds = _enumeration(database) if "ENUM_API_TYPE" in tables else {}
            query = f"{_CALLS} FROM PYTORCH_API"
            for name, start, end, thread, kind in database.execute(query):
                if kinds.get(kind, "op") != "op":
                    continue
                named = named or str(name).startswith("ProfilerStep")
                yield _event(str(name), start, end, 1, thread, "cpu_op")
        if "STEP_TIME" in tables and not named:
            for step, start, end in database.execute("SELECT id, startNs, endNs FROM STEP_TIME"):
                yield _event(f"ProfilerStep#{step}", start, end, 1, 1, "cpu_op")
        if {"CANN_API", "STRING_IDS"} <= tables:
            kinds = _enumeration(database) if "ENUM_API_TYPE" in tables else {}
            query = f"{_CALLS} FROM CANN_API"
            for name, start, end, thread, kind in database.execute(query):
                yield _event(_LEVELS.get(kinds.get(kind, ""), "") + str(name), start, end, 7, thread, "")
        if "GC_RECORD" in tables:
            for start, end in database.execute("SELECT startNs, endNs FROM GC_RECORD"):
                yield _event("GC", start, end, 8, 1, "")


def _enumeration(database: sqlite3.Connection) -> dict[int, str]:
    return {int(number): str(name) for number, name in database.execute("SELECT id, name FROM ENUM_API_TYPE")}


def _event(name: str, start: Any, end: Any, process: int, thread: Any, kind: str) -> dict[str, Any]:
    """``start`` and ``end`` in nanoseconds; PYTORCH_API keeps them as text."""
    begin, finish = int(start), int(end)
    made = {"ph": "X", "name": name, "pid": process, "tid": thread, "ts": begin / 1000, "dur": (finish - begin) / 1000}
    return {**made, "cat": kind} if kind else made
