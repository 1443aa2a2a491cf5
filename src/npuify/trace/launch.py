"""Traces a program in a Python of its own, and holds what it did against a release."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npuify.knowledge import load
from npuify.language import phrase
from npuify.model import Evidence, NpuifyError
from npuify.process.python import python_for
from npuify.project.frameworks.tensorflow_programs import refuse_tensorflow
from npuify.simulator import launch as simulated
from npuify.simulator import tables
from npuify.simulator.settings import PREFIX, Settings
from npuify.trace.result import Call, Failure, Support, TraceResult, ValueRead
from npuify.trace.verdict import Verdict, judge

if TYPE_CHECKING:
    from collections.abc import Sequence

RUNNER = Path(__file__).resolve().parent / "runner.py"
COMPUTE_SECONDS = 30.0
"""Time that computing values which the program reads may take in all."""
KEEP_REAL = 1 << 20
"""Bytes up to which a new floating-point tensor of the CPU stays real."""


def trace(
    script: str,
    arguments: Sequence[str] = (),
    *,
    module: bool = False,
    torch_npu: str = "",
    soc: str = "",
    steps: int = 1,
    compute_limit: int = 512 << 20,
    transfer: bool | None = None,
    python: str = "",
) -> TraceResult:
    """Run ``script`` on fake tensors and say what it ran. What it prints goes to the error stream.

    Args:
        module: ``script`` is the name of a module.
        torch_npu: the release to hold it against; empty: the one of the installed torch.
        soc: the chip, which the program may ask for and which may not compute in bfloat16; empty: Ascend910B1.
        steps: stop after so many steps of every optimizer; 0: run to the end.
        compute_limit: bytes of results that may be filled to compute one value that the program reads.
        transfer: run it with ``transfer_to_npu``, so that CUDA names mean the NPU; None: where the script names CUDA
            and not torch_npu.
        python: the Python to run it with.

    Raises:
        NpuifyError: there is no such file, chip or option, no Python with torch, or the traced process died.
    """
    world = 0
    if script.startswith("-") and not module:
        raise NpuifyError(
            phrase("npuify trace has no option {script}", script=script),
            advice="options come before the program, the program's own after it; see npuify trace --help",
        )
    if not module and Path(script).name in ("torchrun", "torch_npu_run"):
        script, arguments, module, world = unlaunched(arguments)
    if not module and not Path(script).is_file():
        raise NpuifyError(phrase("no such file: {script}", script=script))
    refuse_tensorflow(
        [script, *arguments], module, "npuify trace", phrase("npuify scan tells what is known of its operators")
    )
    interpreter = python_for(python)
    settings = Settings(torch_npu=torch_npu, policy="off", soc=soc or Settings.soc)
    environ = simulated.environment(settings, dict(os.environ))
    _, release = simulated.check(interpreter, environ)
    environ[f"{PREFIX}_TORCH_NPU"] = release
    if world:
        environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE=str(world), LOCAL_WORLD_SIZE=str(world))
        environ.setdefault("MASTER_ADDR", "127.0.0.1")
        environ.setdefault("MASTER_PORT", "29500")
    if transfer is None:
        transfer = not module and _names_only_cuda(Path(script))
    with tempfile.TemporaryDirectory(prefix="npuify-trace-") as folder:
        request = Path(folder) / "request.json"
        result = Path(folder) / "result.json"
        request.write_text(
            json.dumps(
                {
                    "script": script,
                    "arguments": list(arguments),
                    "module": module,
                    "transfer": transfer,
                    "steps": steps,
                    "compute_limit": compute_limit,
                    "compute_seconds": COMPUTE_SECONDS,
                    "keep_real": KEEP_REAL,
                    "result": str(result),
                }
            ),
            encoding="utf-8",
        )
        sys.stderr.flush()
        done = subprocess.run(
            [interpreter, str(RUNNER), str(request)], env=environ, check=False, stdout=sys.stderr.fileno()
        )
        if not result.is_file():
            raise NpuifyError(
                phrase(
                    "the traced program ended with code {returncode} before the trace could be written",
                    returncode=done.returncode,
                ),
                advice="Run it with `npuify simulate` to see how it behaves with real computing.",
                file=script,
            )
        return judged(script, release, json.loads(result.read_text(encoding="utf-8")), settings.soc)


_WITHOUT_VALUE = frozenset(("standalone", "no-python", "run-path", "m", "module", "enable-tiered-parallel-tcpstore"))
"""Options of torchrun that are followed by no value."""


def unlaunched(arguments: Sequence[str]) -> tuple[str, list[str], bool, int]:
    """The program of a ``torchrun`` command, its arguments, whether it is a module, and how many processes there are.

    Raises:
        NpuifyError: the command names no program.
    """
    given = list(arguments)
    values: dict[str, str] = {}
    module = False
    while given and given[0].startswith("-"):
        name, equals, value = given.pop(0).lstrip("-").partition("=")
        name = name.replace("_", "-")
        if name in ("m", "module"):
            module = True
        elif equals:
            values[name] = value
        elif name not in _WITHOUT_VALUE and given:
            values[name] = given.pop(0)
    if not given:
        raise NpuifyError("torchrun names no program", advice="npuify trace torchrun --nproc_per_node 2 train.py")
    each, nodes = values.get("nproc-per-node", "1"), values.get("nnodes", "1").partition(":")[0]
    count = (int(each) if each.isdigit() else 8) * (int(nodes) if nodes.isdigit() else 1)
    return given[0], given[1:], module, count


def _names_only_cuda(script: Path) -> bool:
    text = script.read_text(encoding="utf-8", errors="replace")
    return "cuda" in text and "torch_npu" not in text


def judged(script: str, torch_npu: str, seen: dict[str, Any], soc: str = Settings.soc) -> TraceResult:
    """What the traced process saw, held against a release's operators and a chip's types."""
    release = load(torch_npu)
    bfloat16 = bool(tables.soc(soc)["bf16"])
    rows = seen["operators"]
    device = "npu" if any(row["device"] != "cpu" for row in rows) else "cpu"
    calls = []
    host = 0
    for row in rows:
        if device == "npu" and row["device"] == "cpu":
            host += row["count"]
            continue
        inputs, outputs = row["inputs"], row["outputs"]
        types = [kind for kind, _ in inputs if kind.startswith(("float", "bfloat", "complex"))]
        verdict = judge(release, row["name"], row["overload"], types, row["composite"])
        if not bfloat16 and "bfloat16" in types and verdict.support is Support.KERNEL:
            verdict = Verdict(
                Support.TYPE,
                phrase("bfloat16 on {soc}, of which torch.npu.is_bf16_supported() says False", soc=soc),
                Evidence.PACKAGE,
                phrase("torch_npu {torch_npu}", torch_npu=torch_npu),
            )
        calls.append(
            Call(
                f"{row['name']}.{row['overload']}" if row["overload"] else row["name"],
                row["phase"],
                tuple(_spelled(kind, shape) for kind, shape in inputs),
                tuple(_spelled(kind, shape) for kind, shape in outputs),
                _relative(row["file"]),
                row["line"],
                row["count"],
                row["bytes"],
                *verdict,
            )
        )
    failure = seen["error"]
    return TraceResult(
        script,
        torch_npu,
        seen["torch"],
        soc,
        device,
        seen["steps"],
        seen["stopped"],
        seen["seconds"],
        seen["import_seconds"],
        seen["peak_memory"],
        tuple(calls),
        host,
        tuple(ValueRead(**{**row, "file": _relative(row["file"])}) for row in seen["reads"]),
        tuple(seen["notes"]),
        Failure(**{**failure, "file": _relative(failure["file"])}) if failure else None,
    )


def _spelled(kind: str, shape: Sequence[int]) -> str:
    return phrase("{count} more", count=shape[0]) if kind == "more" else f"{kind}{list(shape)}"


def _relative(name: str) -> str:
    """A file's name below the current folder; else as it is."""
    if not name:
        return ""
    try:
        return Path(os.path.realpath(name)).relative_to(Path.cwd().resolve()).as_posix()
    except ValueError:
        return Path(name).as_posix()
