"""Profiles made up in the published formats: no card was at hand to make real ones.

The columns are those that torch_npu's own analysis writes (prof_common_func/_csv_headers.py and prof_view/*.py of the
released package) and that the vendor's pages on kernel_details.csv, op_summary and communication.json name; starts of
kernels carry the tab that the profiler puts after them.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

STEP_HEAD = (
    "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
    "Communication(Not Overlapped and Exclude Receive),Preparing"
)
KERNEL_HEAD = (
    "Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),"
    "Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,Output Shapes,"
    "Output Data Types,Output Formats,Context ID"
)
KERNELS = (
    ("MatMulV3", "AI_CORE", 300.0, '"128,1024;1024,1024"', "FLOAT16;FLOAT16"),
    ("Add", "AI_VECTOR_CORE", 50.0, '"128,1024;128,1024"', "FLOAT16;FLOAT16"),
)


def kernel(kind: str, core: str, time: float, shapes: str = '"16,16"', types: str = "FLOAT16", hf32: str = "NO") -> str:
    quoted = '"' + shapes.replace('"', '""') + '"'
    return (
        f"1,0,4294967295,1,2,aclnn{kind}_{kind}AiCore_{kind},{kind},dynamic,{core},1736413971558972.912\t,{time},1.0,20,0,"
        f"{hf32},{quoted},{types},ND,{quoted},{types},ND,N/A"
    )


def step(number: int, computing: float, exposed: float, idle: float, *, overlapped: float = 0.0) -> str:
    total = computing + exposed + idle
    return f"0,{number},{computing},{exposed},{overlapped},{exposed + overlapped},{idle},{total},0,{exposed},12.5"


def torch_npu(
    folder: Path,
    steps: Iterable[tuple[float, float, float]] = (),
    kernels: Iterable[str] = (),
    trace: list[dict[str, Any]] | None = None,
    environment: dict[str, str] | None = None,
    rank: int | None = None,
) -> Path:
    """What ``torch_npu.profiler.tensorboard_trace_handler`` leaves of one process."""
    parent = folder / f"host_{100 + (rank or 0)}_20261121101010123_ascend_pt"
    output = parent / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    told = {"torch_npu_version": "2.7.1", "cann_version": "8.3.RC1"}
    name = "profiler_info.json" if rank is None else f"profiler_info_{rank}.json"
    (parent / name).write_text(json.dumps(told))
    if environment is not None:
        (parent / "profiler_metadata.json").write_text(json.dumps({"ENV_VARIABLES": environment}))
    rows = [step(number, *parts) for number, parts in enumerate(steps)]
    if rows:
        (output / "step_trace_time.csv").write_text("\n".join([STEP_HEAD, *rows]) + "\n")
    listed = list(kernels)
    if listed:
        (output / "kernel_details.csv").write_text("\n".join([KERNEL_HEAD, *listed]) + "\n")
    if trace is not None:
        (output / "trace_view.json").write_text(json.dumps(trace))
    return folder


def named(pid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}


def event(
    name: str, start: float, duration: float, *, pid: int = 1, tid: int = 1, cat: str = "cpu_op", **args: Any
) -> dict[str, Any]:
    """An event as torch_npu writes it: its start is text."""
    made = {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": f"{start:.3f}", "dur": duration, "args": args}
    return {**made, "cat": cat} if cat else made


def host_trace() -> list[dict[str, Any]]:
    """Three steps of 1 ms: the DataLoader takes 600 us of each, a fallback, a value fetched, a collection of garbage."""
    made = [named(1, "Python"), named(7, "CANN"), named(8, "Python GC")]
    for number in range(3):
        start = 1_700_000_000_000_000.0 + number * 1000
        made += [
            event(f"ProfilerStep#{number}", start, 1000),
            event("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", start + 10, 600),
            event("aten::linalg_eigvals", start + 620, 100),
            event("aten::_linalg_eigvals", start + 621, 90),
            event("aten::_to_cpu", start + 622, 20),
            event("aten::_to_cpu", start + 650, 20),
            event("aten::item", start + 800, 50),
            event("Optimizer.step#AdamW.step", start + 860, 100),
            event("autograd::engine::evaluate_function: AddmmBackward0", start + 960, 30),
            event("AddmmBackward0", start + 961, 28),
            event("AscendCL@aclrtSynchronizeStream", start + 810, 30, pid=7, cat=""),
            *(event("Node@launch", start + 700 + 3 * place, 2, pid=7, cat="") for place in range(10)),
        ]
    made.append(event("GC", 1_700_000_000_000_900.0, 2500, pid=8, cat=""))
    return made


def cuda_trace() -> dict[str, Any]:
    """As Kineto writes it: two steps, each with computing, a copy, and a collective half hidden by computing."""
    events: list[dict[str, Any]] = [named(0, "python")]
    for number in range(2):
        start = 1000.0 * number
        events += [
            {
                "ph": "X",
                "cat": "user_annotation",
                "name": f"ProfilerStep#{number}",
                "pid": 1,
                "tid": 1,
                "ts": start,
                "dur": 1000,
            },
            {
                "ph": "X",
                "cat": "gpu_user_annotation",
                "name": f"ProfilerStep#{number}",
                "pid": 0,
                "tid": 7,
                "ts": start,
                "dur": 990,
            },
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": start + 5, "dur": 20},
            {
                "ph": "X",
                "cat": "cpu_op",
                "name": "aten::_linalg_eigvals",
                "pid": 1,
                "tid": 1,
                "ts": start + 30,
                "dur": 9,
            },
            {
                "ph": "X",
                "cat": "cuda_runtime",
                "name": "cudaLaunchKernel",
                "pid": 1,
                "tid": 1,
                "ts": start + 6,
                "dur": 4,
            },
            {"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": start + 50, "dur": 500},
            {"ph": "X", "cat": "kernel", "name": "add", "pid": 0, "tid": 8, "ts": start + 300, "dur": 300},
            {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 7, "ts": start + 700, "dur": 50},
            {
                "ph": "X",
                "cat": "kernel",
                "name": "ncclDevKernel_AllReduce",
                "pid": 0,
                "tid": 9,
                "ts": start + 500,
                "dur": 200,
            },
        ]
    return {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "a GPU"}],
        "traceEvents": events,
        "traceName": "x",
    }


def communication() -> dict[str, Any]:
    def collective(elapsed: float, transit: float, size: str) -> dict[str, Any]:
        return {
            "Communication Time Info": {
                "Start Timestamp(us)": 1.0,
                "Elapse Time(ms)": elapsed,
                "Transit Time(ms)": transit,
                "Wait Time(ms)": elapsed - transit,
                "Synchronization Time(ms)": 0.0,
                "Idle Time(ms)": 0.0,
                "Wait Time Ratio": 0.5,
                "Synchronization Time Ratio": 0.0,
            },
            "Communication Bandwidth Info": {
                "HCCS": {
                    "Transit Size(MB)": 400.0,
                    "Transit Time(ms)": transit,
                    "Bandwidth(GB/s)": 20.0,
                    "Large Packet Ratio": 1.0,
                    "Size Distribution": {size: [1, transit]},
                },
                "SDMA": {"Transit Size(MB)": 0, "Size Distribution": {}},
            },
        }

    return {
        "step1": {
            "p2p": {},
            "collective": {
                "hcom_allReduce__123_0_1@456": collective(3.0, 1.0, "400.0"),
                "hcom_allReduce__123_1_1@456": collective(2.0, 1.0, "16.0"),
                "Total Op Info": collective(5.0, 2.0, "400.0"),
            },
        }
    }


def msprof(folder: Path) -> Path:
    """What ``msprof --export=on`` leaves."""
    output = folder / "PROF_000001_20261121101010123_ABCDEF" / "mindstudio_profiler_output"
    output.mkdir(parents=True)
    (output / "op_summary_20261121101010.csv").write_text(
        "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),Task Duration(us),"
        "Task Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,Input Shapes,Input Data Types\n"
        '0,1,1,2,trans_Cast_1,Cast,static,AI_CPU,1.0\t,40.0,0,1,0,NO,"""8""",INT64\n'
        '0,1,2,2,MatMul_1,MatMul,static,AI_CORE,50.0\t,60.0,0,1,0,NO,"""16,16;16,16""",FLOAT;FLOAT\n'
    )
    (output / "step_trace_20261121101010.csv").write_text(
        "Device_id,Iteration ID,FP Start(us),BP End(us),Iteration End(us),Iteration Time(us),FP to BP Time(us)\n"
        "0,1,N/A,N/A,100,110.5,N/A\n0,2,N/A,N/A,210,109.5,N/A\n"
    )
    (output / "api_statistic_20261121101010.csv").write_text(
        "Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance\n"
        "0,acl,aclopCompileAndExecute,900,30,30,1,100,2\n0,node,launch,300,40,7.5,1,20,2\n"
        "0,acl,aclrtSynchronizeStream,500,10,50,1,90,2\n"
    )
    return folder


def databases(folder: Path) -> Path:
    """What the profiler leaves with ``ExportType.Db``: the tables that DbConstant of the released package names."""
    output = folder / "host_1_20261121101010123_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    strings = [
        "MatMul_1",
        "MatMul",
        "AI_CORE",
        "Cast_1",
        "Cast",
        "AI_CPU",
        "FLOAT",
        "16,16;16,16",
        "hcom_allReduce__12_0_1@3",
    ]
    strings += ["ProfilerStep#1", "aten::_linalg_eigvals", "aten::_to_cpu", "aclrtSynchronizeStream", "launch", "NO"]
    number = {text: place for place, text in enumerate(strings)}
    start = 1_700_000_000_000_000_000
    with closing(sqlite3.connect(output / "ascend_pytorch_profiler_0.db")) as database:
        database.executescript(
            "CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);"
            "CREATE TABLE ENUM_API_TYPE (id INTEGER, name TEXT);"
            "CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, globalTaskId INTEGER, taskType INTEGER);"
            "CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER, blockDim INTEGER, taskType INTEGER,"
            " opType INTEGER, inputDataTypes INTEGER, inputShapes INTEGER, hf32Eligible INTEGER);"
            "CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs INTEGER);"
            "CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, globalTid INTEGER, name INTEGER, type INTEGER);"
            "CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, name INTEGER);"
            "CREATE TABLE GC_RECORD (startNs INTEGER, endNs INTEGER, globalTid INTEGER);"
            "CREATE TABLE META_DATA (name TEXT, value TEXT);"
        )
        database.executemany("INSERT INTO STRING_IDS VALUES (?, ?)", enumerate(strings))
        database.executemany(
            "INSERT INTO ENUM_API_TYPE VALUES (?, ?)",
            [(20000, "acl"), (10000, "node"), (50001, "op"), (50002, "queue")],
        )
        for task, (kind, core, time) in enumerate((("MatMul", "AI_CORE", 300), ("Cast", "AI_CPU", 40))):
            database.execute("INSERT INTO TASK VALUES (?, ?, 0, ?, 0)", (start, start + time * 1000, task))
            values = (
                number[f"{kind}_1"],
                task,
                number[core],
                number[kind],
                number["FLOAT"],
                number["16,16;16,16"],
                number["NO"],
            )
            database.execute("INSERT INTO COMPUTE_TASK_INFO VALUES (?, ?, 8, ?, ?, ?, ?, ?)", values)
        database.execute(
            "INSERT INTO COMMUNICATION_OP VALUES (?, ?, ?)",
            (number["hcom_allReduce__12_0_1@3"], start, start + 100_000),
        )
        for name, begin, end in (
            ("ProfilerStep#1", 0, 1_000_000),
            ("aten::_linalg_eigvals", 10_000, 90_000),
            ("aten::_to_cpu", 12_000, 20_000),
        ):
            database.execute(
                "INSERT INTO PYTORCH_API VALUES (?, ?, 5, ?, 50001)",
                (str(start + begin), str(start + end), number[name]),
            )
        for name, kind, count in (("aclrtSynchronizeStream", 20000, 2), ("launch", 10000, 4)):
            database.executemany(
                "INSERT INTO CANN_API VALUES (?, ?, ?, 5, ?)", [(start, start + 1000, kind, number[name])] * count
            )
        database.execute("INSERT INTO GC_RECORD VALUES (?, ?, 5)", (start, start + 2_500_000))
        database.execute(
            "INSERT INTO META_DATA VALUES ('ENV_VARIABLES', ?)", (json.dumps({"ASCEND_LAUNCH_BLOCKING": "1"}),)
        )
        database.commit()
    with closing(sqlite3.connect(output / "analysis.db")) as database:
        database.execute(
            "CREATE TABLE StepTraceTime (deviceId INTEGER, step TEXT, computing NUMERIC, communication_not_overlapped NUMERIC,"
            " overlapped NUMERIC, communication NUMERIC, free NUMERIC, stage NUMERIC, bubble NUMERIC,"
            " communication_not_overlapped_and_exclude_receive NUMERIC, preparing NUMERIC)"
        )
        database.execute("INSERT INTO StepTraceTime VALUES (0, '1', 340, 100, 0, 100, 560, 1000, 0, 100, 5)")
        database.commit()
    return folder
