"""Programs for CUDA and what npuify makes of them: the losses of the one on the CPU, and of the other on the NPU."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from npuify.selftest.inside.ask import CannotAsk, is_stand_in

_SECONDS = 240
_on_cpu: dict[str, list[float] | str] = {}
"""Program → its losses on the CPU, which are the same for all that is made of it."""
_LOSS = r"^loss (\S+)$"


def losses(before: str, after: str, helpers: dict[str, str], limit: float, command: list[str]) -> str:
    """What differs between the losses of the two; empty where all agree.

    Args:
        helpers: modules beside the migrated program, by file.
        limit: how far they may be apart, as a share of the CPU's.
        command: what starts the migrated program, beside its file; empty: this Python.
    """
    if is_stand_in():
        raise CannotAsk("there is no kernel here")
    Path("after.py").write_text(after, encoding="utf-8")
    for name, text in helpers.items():
        Path(name).write_text(text, encoding="utf-8")
    if before not in _on_cpu:
        Path("before.py").write_text(before, encoding="utf-8")
        _on_cpu[before] = _run([sys.executable, "before.py"], on_cpu())
    expected = _on_cpu[before]
    actual = _run([*(command or [sys.executable]), "after.py"], dict(os.environ))
    if isinstance(expected, str):
        return f"the original: {expected}"
    if isinstance(actual, str):
        return f"the migrated program: {actual}"
    return apart(actual, expected, limit)


def apart(actual: list[float], expected: list[float], limit: float) -> str:
    """What is wrong with losses; empty where they are no further apart than ``limit``, as a share of the CPU's."""
    if not expected or len(expected) != len(actual):
        return f"{len(actual)} losses for {len(expected)}"
    for step, (one, other) in enumerate(zip(actual, expected, strict=True)):
        if not abs(one - other) <= limit * max(abs(other), 1e-3):
            return f"loss {step} is {one}, and {other} on the CPU"
    return ""


def on_cpu() -> dict[str, str]:
    """The variables of this process for a program that is to find no NPU."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("NPUIFY_SIMULATE")}
    return {**plain, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "CUDA_VISIBLE_DEVICES": ""}


def losses_in(text: str, pattern: str) -> list[float]:
    """The numbers that a program writes after ``pattern``."""
    return [float(one) for one in re.findall(pattern, text, re.MULTILINE)]


def _run(command: list[str], environment: dict[str, str]) -> list[float] | str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1][:200]
    return losses_in(done.stdout, _LOSS)
