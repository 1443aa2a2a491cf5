"""Runs the programs that its input names, each in a fork, under the capture. Started by running.py."""

from __future__ import annotations

import importlib
import json
import os
import runpy
import sys
import traceback
from pathlib import Path


def main() -> int:
    """Run them one after the other; 1 where one failed. Modules named as arguments are imported first."""
    requests = json.load(sys.stdin)
    from npuify.verify.capture import machine, recorder, sameness, start, store, training  # noqa: F401

    if os.environ.get("CUDA_VISIBLE_DEVICES") == "":
        _warm()  # elsewhere it would look for GPUs, after which no fork can use them
    for name in sys.argv[1:]:
        importlib.import_module(name)
    failed = 0
    for request in requests:
        sys.stdout.flush()
        child = os.fork()
        if not child:
            os.environ.update(request["environment"])
            if request["environment"]:
                start.begin()
            sys.argv = request["arguments"]
            try:
                runpy.run_path(sys.argv[0], run_name="__main__")
            except SystemExit as ended:
                _leave(0 if ended.code in (0, None) else 1)
            except BaseException:
                traceback.print_exc()
                _leave(1)
            _leave(0)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
            print("failed:", *request["arguments"], file=sys.stderr)
            if "failed" in request:
                Path(request["failed"]).touch()
            failed = 1
    return failed


def _warm() -> None:
    """Have everything imported that a step of training imports, so that no fork has to."""
    import torch

    parameter = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.AdamW([parameter])
    torch.utils.data.DataLoader([1])
    torch.amp.GradScaler("cpu").scale(parameter.sum()).backward()
    optimizer.step()


def _leave(code: int) -> None:
    """End the fork: what is registered for the end closes the capture's files."""
    import atexit

    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
