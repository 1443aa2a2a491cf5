"""Whole projects: what npuify makes of them, or writes anew, against the losses of the original on the CPU."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from npuify.selftest.inside.ask import CannotAsk, is_stand_in, without_machine
from npuify.selftest.inside.questions.programs import apart, losses_in, on_cpu

_SECONDS = 280
_FINDINGS_REMAIN = 1
_MADE = "made"


def losses(source: str, make: list[str], before: list[str], after: list[str], pattern: str, limit: float) -> str:
    """What differs between the losses of a project on the CPU and of what npuify makes of it on the NPU.

    Args:
        source: the folder of the original; empty: what is made is also the original.
        make: the command that writes the project for the NPU into the folder ``made``.
        before, after: what Python is given, on the CPU and on the NPU: the program, or a launcher, with its arguments.
        pattern: what a loss stands after in what the program writes, as a regular expression with one group.
        limit: how far losses may be apart, as a share of the CPU's.

    Raises:
        CannotAsk: this Python lacks a package that the program needs.
    """
    if is_stand_in():
        raise CannotAsk("there is no kernel here")
    done = subprocess.run(make, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode not in (0, _FINDINGS_REMAIN) or not Path(_MADE).is_dir():
        return f"npuify: {without_machine((done.stderr.strip().splitlines() or ['nothing is written'])[-1])}"
    original = Path("original")
    shutil.copytree(source or _MADE, original)
    expected = _run([sys.executable, *before], original, on_cpu(), pattern)
    if isinstance(expected, str):
        if "No module named" in expected:
            raise CannotAsk("the program needs a package that is not here")
        return f"the original: {expected}"
    actual = _run([sys.executable, *after], Path(_MADE), dict(os.environ), pattern)
    return f"what was made: {actual}" if isinstance(actual, str) else apart(actual, expected, limit)


def _run(command: list[str], folder: Path, environment: dict[str, str], pattern: str) -> list[float] | str:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        told = next((line for line in reversed(lines) if "Error" in line), lines[-1] if lines else "")
        return without_machine(told or f"exit {done.returncode}")
    return losses_in(done.stdout + done.stderr, pattern)
