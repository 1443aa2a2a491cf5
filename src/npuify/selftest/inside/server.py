"""Answers batches of questions. Each batch has a process of its own, forked before the device is touched.

A batch comes as one line of JSON: a list of questions. What goes back, a line each: ``{"id", "began"}`` as a question
is begun, then ``{"id"}`` with ``seen``, ``raised``, ``cannot`` or, where its process ended or hung, ``ended``.
``{"done": true}`` ends the batch. The questions after one that ended its process are asked in a new one.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import importlib
import json
import os
import select
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from npuify.selftest.inside.ask import CannotAsk, kernels_missing, told

Question = dict[str, Any]
_IMPORTED = ("torch_npu", "torch._dynamo", "torch.distributed.optim", "torch.testing")
"""What questions load later, at length."""


def main() -> None:
    """Answer until there is nothing more to read."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    said = _import()
    _say(out, said)
    if not said.get("cannot"):
        for line in sys.stdin:
            _answer(json.loads(line), out)
            _say(out, {"done": True})
    out.flush()
    # Threads and handlers of the package may wait for a device that is not there.
    os._exit(0)


def _import() -> dict[str, Any]:
    try:
        importlib.import_module("torch")
        importlib.import_module("torch_npu")
    except BaseException as error:
        return {"cannot": told(error)}
    for module in _IMPORTED:
        with contextlib.suppress(Exception):
            importlib.import_module(module)
    return {"ready": True}


def _say(out: Any, message: dict[str, Any]) -> None:
    out.write(json.dumps(message) + "\n")
    out.flush()


def _answer(batch: list[Question], out: Any) -> None:
    while batch:
        answered = _in_a_process(batch, out)
        batch = batch[answered:]


def _in_a_process(batch: list[Question], out: Any) -> int:
    """How many were answered, the one that ended the process included."""
    read, write = os.pipe()
    with tempfile.TemporaryFile() as said, tempfile.TemporaryDirectory() as folder:
        child = os.fork()
        if child == 0:
            os.close(read)
            _child(batch, write, said.fileno(), folder)
        os.close(write)
        answered, ended = _follow(batch, read, child, out)
        os.close(read)
        if answered < len(batch):
            said.seek(0)
            tail = said.read()[-4000:].decode(errors="replace")
            _say(out, {"id": batch[answered]["id"], "ended": ended, "said": tail})
            answered += 1
    return answered


def _follow(batch: list[Question], read: int, child: int, out: Any) -> tuple[int, str]:
    """Pass on what a child says, and end it where it is silent for longer than the question at hand may take."""
    answered, rest, until = 0, b"", time.monotonic() + batch[0]["seconds"]
    while answered < len(batch):
        left = until - time.monotonic()
        if left <= 0 or not select.select([read], [], [], left)[0]:
            _kill(child)
            return answered, "hung"
        piece = os.read(read, 65536)
        if not piece:
            break
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            message = json.loads(line)
            _say(out, message)
            if "began" not in message:
                answered += 1
            if answered < len(batch):
                until = time.monotonic() + batch[answered]["seconds"]
    status = _wait(child, 10 if answered == len(batch) else 60)
    return answered, status


def _wait(child: int, seconds: float) -> str:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            _kill_group(child)
            if os.WIFSIGNALED(status):
                return signal.Signals(os.WTERMSIG(status)).name
            return f"exit {os.WEXITSTATUS(status)}"
        time.sleep(0.005)
    _kill(child)
    return "hung"


def _kill(child: int) -> None:
    _kill_group(child)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child, 0)


def _kill_group(child: int) -> None:
    """What a question started, other ranks for example, must not outlive it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)


def _child(batch: list[Question], write: int, said: int, folder: str) -> None:
    try:
        os.setsid()
        _end_with_parent()
        os.dup2(said, 1)
        os.dup2(said, 2)
        faulthandler.enable()
        os.chdir(folder)
        with os.fdopen(write, "w", encoding="utf-8") as out:
            for question in batch:
                _say(out, {"id": question["id"], "began": True})
                home = Path(folder, question["id"].replace("/", "_")[:80])
                home.mkdir(exist_ok=True)
                os.chdir(home)
                _say(out, {"id": question["id"], **ask(question)})
    finally:
        os._exit(0)


def _end_with_parent() -> None:
    """Not to hold the device when the run is interrupted in the middle of a question; Linux only."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def ask(question: Question) -> dict[str, Any]:
    """Ask one question in this process.

    Returns:
        ``seen``: the answer, ``raised``: an error instead of one, or ``cannot``: why it could not be asked.
    """
    module, _, name = question["function"].partition(":")
    try:
        function = getattr(importlib.import_module(f"npuify.selftest.inside.questions.{module}"), name)
        return {"seen": function(**question["arguments"])}
    except CannotAsk as error:
        return {"cannot": str(error)}
    except BaseException as error:
        if type(error).__name__ == "NotSimulated" or "is not simulated by npuify" in str(error):
            return {"cannot": "not simulated"}
        if kernels_missing(error):
            return {"cannot": "there is no kernel here"}
        return {"raised": told(error)}
