"""Programs in forks of one process that has imported PyTorch: importing it, again for each, is what takes the time.

What a test is about may be what a program does, or how it is started. The first runs here; for the second there are tests that start
a process as users do. A fork begins as such a process would: its folder, arguments, environment, its own folder first on the path of
modules, and nothing of the test's own loaded but PyTorch.

As a program it is that one process: a line of JSON for the forks that it is to start at once, and one with their exit codes.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
HUNG = "hung after the other ranks had ended"
"""What is said of a program that was ended for that: PyTorch's gloo may wait for ever for its own thread as a group is
taken down, while that thread waits for Python's lock. Such a test is run again; see pyproject.toml."""
_PATIENCE = 40
"""Seconds that a rank may go on alone."""


class Program(NamedTuple):
    """A file, or ``-m`` and a module, with arguments; where it runs, and what its environment has besides."""

    arguments: Sequence[str]
    folder: Path
    environment: Mapping[str, str | None] = {}
    """None takes a variable away."""


class Done(NamedTuple):
    """As of a process that has ended."""

    returncode: int
    stdout: str
    stderr: str


class Warm:
    """The process with PyTorch, as the tests see it."""

    def __init__(self, environment: Mapping[str, str], modules: Sequence[str]) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._number = 0
        # What it says itself goes to a file: a pipe that nobody reads would stop it.
        with Path(self._folder.name, "own").open("wb") as own:
            self._process = subprocess.Popen(
                [sys.executable, __file__, *modules],
                cwd=self._folder.name,
                env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", **environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=own,
                text=True,
            )

    def run(self, *programs: Program) -> list[Done]:
        """Run them all at once, and wait for all; where one fails, those that still run are ended."""
        assert self._process.stdin is not None and self._process.stdout is not None
        asked = []
        for program in programs:
            self._number += 1
            said = str(Path(self._folder.name, str(self._number)))
            asked.append(
                {
                    "arguments": list(map(str, program.arguments)),
                    "folder": str(program.folder),
                    "environment": dict(program.environment),
                    "said": said,
                }
            )
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, Path(self._folder.name, "own").read_text("utf-8", "replace")
        texts = [
            [Path(f"{one['said']}.{stream}").read_text("utf-8", "replace") for stream in ("out", "err")]
            for one in asked
        ]
        return [Done(code, out, err) for code, (out, err) in zip(json.loads(answer), texts, strict=True)]

    def ranks(self, count: int, program: Program) -> list[Done]:
        """A program on each of several ranks, with the environment that torchrun gives them."""
        port = free_port()
        return self.run(
            *(
                program._replace(environment={**ranked(rank, count, port), **program.environment})
                for rank in range(count)
            )
        )

    def close(self) -> None:
        """End it, and forget what was said."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._folder.cleanup()


@contextlib.contextmanager
def warm(environment: Mapping[str, str], modules: Sequence[str] = ()) -> Iterator[Warm]:
    """Such a process, with an environment and modules that it imports besides PyTorch; and its end."""
    made = Warm(environment, modules)
    try:
        yield made
    finally:
        made.close()


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def ranked(rank: int, count: int, port: int) -> dict[str, str]:
    """What torchrun puts into the environment of a rank on one machine."""
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "GROUP_RANK": "0",
        "WORLD_SIZE": str(count),
        "LOCAL_WORLD_SIZE": str(count),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }


def _main() -> None:
    _prepare()
    for line in sys.stdin:
        running: dict[int, int] = {}
        asked = json.loads(line)
        sys.stdout.flush()
        for number, one in enumerate(asked):
            child = os.fork()
            if not child:
                _become(one)
            running[child] = number
        codes = [0] * len(asked)

        def end_what_hangs(*_: object, running: dict[int, int] = running, asked: list[Any] = asked) -> None:
            for process, number in running.items():
                with Path(f"{asked[number]['said']}.err").open("a") as said:
                    said.write(HUNG)
                os.kill(process, signal.SIGKILL)

        signal.signal(signal.SIGALRM, end_what_hangs)
        while running:
            ended, status = os.wait()
            codes[running.pop(ended)] = code = os.waitstatus_to_exitcode(status)
            if code:
                for other in running:
                    os.kill(other, signal.SIGKILL)
            signal.alarm(_PATIENCE if running else 0)
        print(json.dumps(codes), flush=True)


def _prepare() -> None:
    """Import what a step of training imports. No backward pass: its threads would not live on in a fork."""
    own = os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD")
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"  # which device it is, each program says in its own environment
    import torch
    import torch._dynamo
    import torch.distributed.run
    import torch.nn.parallel
    import torch.utils.data

    del os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"]
    if own is not None:
        os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = own
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.grad = torch.ones(2)
    torch.optim.AdamW([parameter]).step()
    for name in sys.argv[1:]:
        importlib.import_module(name)


def _load_device() -> None:
    """What an import of PyTorch ends with."""
    import torch

    if os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD", "1") == "1" and hasattr(torch, "_import_device_backends"):
        torch._import_device_backends()


def _become(asked: dict[str, Any]) -> None:
    """Be the program that is asked for, and end as it does."""
    code = 1
    try:
        for number, stream in ((1, "out"), (2, "err")):
            file = os.open(f"{asked['said']}.{stream}", os.O_WRONLY | os.O_CREAT)
            os.dup2(file, number)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.chdir(asked["folder"])
        for name, value in asked["environment"].items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        _load_device()
        first, *rest = asked["arguments"]
        if first == "-m":
            sys.path[0] = str(Path.cwd())
            sys.argv = rest
            runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = str(Path(first).resolve().parent)
            sys.argv = [first, *rest]
            runpy.run_path(first, run_name="__main__")
        code = 0
    except SystemExit as ended:
        if ended.code is not None and not isinstance(ended.code, int):
            print(ended.code, file=sys.stderr)
        code = 0 if ended.code is None else ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        import atexit

        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _main()
