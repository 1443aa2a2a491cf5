"""What torch_npu answers, warns and raises where no kernel is needed.

Each scenario runs in a process of its own, with its own stand-in machine. What belongs to the stand-in (the size of the
memory, the number of cores, the SoC's name) is in the answers as well and says nothing about an NPU.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from scenarios import SCENARIOS

_SETUP = "import copy, io, os, pickle\nimport torch, torch_npu\nimport torch.distributed as dist"
_LONGEST = 1500
_UNSTEADY = (
    (re.compile(r"\b0x[0-9a-f]+"), "0x..."),
    (re.compile(r"\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d"), "TIME"),
    (re.compile(r"PID:\d+"), "PID:..."),
    (re.compile(r"\[W\d+ [\d:.]+ "), "[W... "),
    (re.compile(r"\b([EIW])\d{4} [\d:.]+ +\d+ "), r"\1... "),
    (re.compile(r"/[^\s'\"]*/(torch(?:_npu)?/)"), r"\1"),
    (re.compile(r"\d+\.\d+ [KMG]iB free|\d+ bytes free"), "... free"),
)
"""What differs from run to run, and what stands for it."""


def collect() -> dict[str, Any]:
    """Scenario → its setting and, for each statement in its order (``ask``), ``value`` or ``error`` with ``warnings``
    and what went to stderr."""
    # Scenarios that set nothing but the stand-in machine, which is looked at when the device is first used, are forked
    # off: importing is most of the time.
    importlib.import_module("torch_npu")
    found = {}
    for name, (setting, statements) in SCENARIOS.items():
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder, "answers.json")
            is_forked = all(variable.startswith("NPUIFY_STAND_IN_") for variable in setting)
            status = _fork(name, output) if is_forked else _spawn(name, output)
            answers = json.loads(output.read_text()) if output.exists() else []
        if len(answers) < len(statements):
            answers.append({"ask": statements[len(answers)], "crash": f"the process ended with {status}"})
        found[name] = {"setting": setting, "answers": answers}
    return found


def _fork(name: str, output: Path) -> int:
    child = os.fork()
    if child == 0:
        os.environ.update(SCENARIOS[name][0])
        _run(name, output)
    return os.waitpid(child, 0)[1]


def _spawn(name: str, output: Path) -> int:
    command = [sys.executable, __file__, name, str(output)]
    environment = {**os.environ, **SCENARIOS[name][0]}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).returncode


def _run(name: str, output: Path) -> None:
    space: dict[str, Any] = {}
    answers: list[dict[str, object]] = []
    try:
        exec(_SETUP, space)
        for statement in SCENARIOS[name][1]:
            answers.append({"ask": statement, **_ask(statement, space)})
            output.write_text(json.dumps(answers))
    finally:
        os._exit(0)


def _ask(statement: str, space: dict[str, Any]) -> dict[str, object]:
    answer: dict[str, object] = {}
    with warnings.catch_warnings(record=True) as warned, _Stderr() as stderr:
        warnings.simplefilter("always")
        try:
            code = compile(statement, "statement", "eval")
        except SyntaxError:
            code = compile(statement, "statement", "exec")
        try:
            value = eval(code, space)
            if value is not None:
                answer["value"] = _steady(repr(value))
        except BaseException as error:
            answer["error"] = f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")
            answer["message"] = _steady(str(error))
    if warned:
        answer["warnings"] = [f"{w.category.__name__}: {_steady(str(w.message))}" for w in warned]
    if stderr.text:
        answer["stderr"] = _steady(stderr.text)
    return answer


def _steady(text: str) -> str:
    for pattern, stands_for in _UNSTEADY:
        text = pattern.sub(stands_for, text)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


class _Stderr:
    """Catches what C++ writes to the standard error stream, too."""

    text = ""

    def __enter__(self) -> _Stderr:
        sys.stderr.flush()
        self._kept = os.dup(2)
        self._file = tempfile.TemporaryFile()
        os.dup2(self._file.fileno(), 2)
        return self

    def __exit__(self, *_: object) -> None:
        sys.stderr.flush()
        os.dup2(self._kept, 2)
        os.close(self._kept)
        self._file.seek(0)
        self.text = self._file.read().decode(errors="replace").strip()
        self._file.close()


if __name__ == "__main__":
    _run(sys.argv[1], Path(sys.argv[2]))
