"""Which public functions of torch run on the CPU when they are given NPU tensors.

Each call is made in a process of its own, forked before the device is touched, because torch_npu says only once in a
process that an operator falls back. A call that comes to a kernel of the NPU ends there: there are none.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from typing import Any

from npuify.selftest.inside.samples.call_list import CALLS, SETUP

_FALLBACK = re.compile(r"CAUTION: The operator 'aten::([\w.]+)'")
_NO_KERNEL = ("Failed to find function aclop", "libopapi", "Failed to find function acl", "error code is 207000")


def collect() -> dict[str, dict[str, object]]:
    """Function → ``cpu``: operators that fell back; ``end``: ``done``, ``kernel``, or what was raised."""
    space: dict[str, Any] = {}
    exec("import torch, torch_npu", space)
    return {name: _in_a_process(call, space) for name, call in CALLS.items()}


def _in_a_process(call: str, space: dict[str, Any]) -> dict[str, object]:
    with tempfile.TemporaryFile() as told, tempfile.TemporaryFile() as answer:
        child = os.fork()
        if child == 0:
            os.dup2(told.fileno(), 2)
            os.write(answer.fileno(), json.dumps(_outcome(call, space)).encode())
            os._exit(0)
        _, status = os.waitpid(child, 0)
        told.seek(0)
        answer.seek(0)
        text = answer.read().decode()
        found: dict[str, object] = {"end": json.loads(text) if text else f"the process ended with {status}"}
        cpu = _FALLBACK.findall(told.read().decode(errors="replace"))
        return {**found, "cpu": list(dict.fromkeys(cpu))}


def _outcome(call: str, space: dict[str, Any]) -> str:
    try:
        exec(SETUP, space)
        exec(call, space)
        space["torch"].npu.synchronize()
    except Exception as error:  # what it raises is the answer
        text = str(error)
        if any(sign in text for sign in _NO_KERNEL):
            return "kernel"
        return f"{type(error).__name__}: {(text.splitlines() or [''])[0][:200]}"
    return "done"
