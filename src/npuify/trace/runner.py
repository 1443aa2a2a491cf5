"""Runs a program under the recorder and writes what was seen. Started by :mod:`launch` in the user's Python.

Usage: runner.py REQUEST.json, whose result goes to the file that the request names.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import runpy
import sys
import time
from pathlib import Path
from typing import Any

from npuify.language import phrase


def main(request_path: str) -> int:
    """Trace what the request asks for.

    Returns:
        0: the program came to its end, or was stopped after enough steps; 1: it failed, which the result tells.
    """
    request: dict[str, Any] = json.loads(Path(request_path).read_text(encoding="utf-8"))
    script: str = request["script"]
    sys.argv = [script, *request["arguments"]]
    sys.path[0] = str(Path.cwd() if request["module"] else Path(script).absolute().parent)
    started = time.perf_counter()
    import torch

    # Where shapes do not fit, torch would log its own long story; the result tells the program's line.
    logging.getLogger("torch._subclasses.fake_tensor").setLevel(logging.CRITICAL)
    from npuify.trace import patches
    from npuify.trace.places import Places
    from npuify.trace.recorder import Recorder

    places = Places([sys.path[0], str(Path.cwd())])
    if request["transfer"]:
        importlib.import_module("torch_npu")
        importlib.import_module("torch_npu.contrib.transfer_to_npu")
    recorder = Recorder(places, request["compute_limit"], request["compute_seconds"], request["keep_real"])
    loaded = time.perf_counter()
    notes: dict[str, None] = {}
    code, error = 0, None
    try:
        with patches.applied(recorder, request["steps"], notes), recorder:
            if request["module"]:
                runpy.run_module(script, run_name="__main__", alter_sys=True)
            else:
                runpy.run_path(script, run_name="__main__")
    except patches.Finished:
        pass
    except SystemExit as ended:
        error = _ended(ended)
    except BaseException as failed:
        code, error = 1, _failure(failed, places)
    result = {
        "torch": str(torch.__version__),
        "python": sys.version.split()[0],
        "steps": recorder.steps,
        "stopped": recorder.stopped,
        "seconds": time.perf_counter() - loaded,
        "import_seconds": loaded - started,
        "peak_memory": _peak_memory(),
        "notes": list(notes),
        "error": error,
        "operators": _operators(recorder),
        "reads": _reads(recorder),
    }
    partial = Path(f"{request['result']}.part")
    partial.write_text(json.dumps(result), encoding="utf-8")
    partial.replace(request["result"])
    return code


def _peak_memory() -> int:
    """The largest memory of this process so far, in bytes; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _reads(recorder: Any) -> list[dict[str, Any]]:
    return [
        {
            "what": read.what,
            "file": read.place[0],
            "line": read.place[1],
            "computed": read.computed,
            "reason": read.reason,
            "value": read.value,
            "count": read.count,
        }
        for read in recorder.record.reads.values()
    ]


def _operators(recorder: Any) -> list[dict[str, Any]]:
    rows = []
    for (name, overload, inputs, outputs, device, phase, place), row in recorder.record.rows.items():
        rows.append(
            {
                "name": name,
                "overload": overload,
                "inputs": inputs,
                "outputs": outputs,
                "device": device,
                "phase": phase,
                "file": place[0],
                "line": place[1],
                "count": row.count,
                "bytes": row.bytes,
                "composite": _composite(name, overload),
            }
        )
    return rows


def _composite(name: str, overload: str) -> bool:
    """Whether PyTorch makes the operator of others on a device that has no kernel for it."""
    import torch

    full = f"{name}.{overload}" if overload else name
    keys = ("CompositeExplicitAutograd", "CompositeImplicitAutograd")
    try:
        return any(torch._C._dispatch_has_kernel_for_dispatch_key(full, key) for key in keys)
    except RuntimeError:
        return False


def _ended(ended: SystemExit) -> dict[str, Any] | None:
    """The failure, if it is one, of a program that ends itself."""
    if ended.code in (None, 0):
        return None
    return {
        "kind": "SystemExit",
        "message": phrase("the program ended with {code!r}", code=ended.code),
        "file": "",
        "line": 0,
    }


def _failure(failed: BaseException, places: Any) -> dict[str, Any]:
    """The failure, at the program's innermost own line."""
    file, line = "", 0
    step = failed.__traceback__
    while step is not None:
        name = step.tb_frame.f_code.co_filename
        if places.is_own(name):
            file, line = name, step.tb_lineno
        step = step.tb_next
    text = str(failed).strip()
    if os.environ.get("NPUIFY_TRACEBACK", "0") not in ("", "0"):
        import traceback

        traceback.print_exception(failed)
    return {"kind": type(failed).__name__, "message": text[:2000], "file": file, "line": line}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
