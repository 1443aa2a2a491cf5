"""Runs programs in the environment of a release: ``python inside.py PROGRAMS OUTPUT [real|simulated]``.

Only torch, torch_npu, numpy and the standard library are there. Each program has a process of its own, forked off
before the device is touched: importing is most of the time.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2] / "src"))
_SECONDS = 90
"""For one program. What hangs for longer is ended, and counts as not reached."""


def main() -> None:
    """Run the programs of the file that the first argument names, and write what became of each to the second."""
    source, output, where = sys.argv[1:4]
    programs = json.loads(Path(source).read_text(encoding="utf-8"))
    for module in ("torch_npu", "torch._dynamo", "torch.distributed.optim"):  # what programs load later, at length
        importlib.import_module(module)
    runner = importlib.import_module("npuify.selftest.inside.forms.runner")
    found = {}
    for number, (name, program) in enumerate(sorted(programs.items())):
        found[name] = _in_a_process(runner, program, where)
        print(f"{number + 1}/{len(programs)} {name}", file=sys.stderr, flush=True)
        Path(output).write_text(json.dumps(found), encoding="utf-8")
    # Threads and handlers of the package may wait for a device that is not there.
    sys.stdout.flush()
    os._exit(0)


def _in_a_process(runner: Any, program: dict[str, Any], where: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as said:
        answer = Path(folder, "answer.json")
        child = os.fork()
        if child == 0:
            os.setsid()
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            status = 1
            faulthandler.enable()
            try:
                home = Path(folder, "program")
                home.mkdir()
                answer.write_text(json.dumps(runner.run(program, home, where)), encoding="utf-8")
                status = 0
            finally:
                os._exit(status)
        status = _wait(child)
        if answer.is_file():
            return dict(json.loads(answer.read_text(encoding="utf-8")))
        said.seek(0)
        return {"ended": status, "said": said.read().decode(errors="replace")[-2000:]}


def _wait(child: int) -> str:
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return f"ended with {status}"
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return f"took more than {_SECONDS} seconds"


if __name__ == "__main__":
    main()
