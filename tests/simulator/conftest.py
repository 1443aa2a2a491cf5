"""Programs on the simulated NPU: each in a process of its own."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from unittest import mock

import pytest
from typer.main import get_command

from npuify.cli.app import app
from tests.warm import Program

from . import in_parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.warm import Warm

SOURCE = Path(__file__).parents[2] / "src"


class Simulate(Protocol):
    """Runs a program with ``npuify simulate``."""

    def __call__(self, program: str, *options: str, arguments: tuple[str, ...] = (), code: int = 0) -> str: ...


def environment() -> dict[str, str]:
    """The environment of such a process."""
    keep = {name: value for name, value in os.environ.items() if not name.startswith("NPUIFY_SIMULATE")}
    path = os.pathsep.join(filter(None, [str(SOURCE), keep.get("PYTHONPATH", "")]))
    keep.pop("PYTHONWARNINGS", None)
    return {**keep, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


def keep_parts(program: str, said: str, keep: Callable[[str, object], None]) -> None:
    """Keep for the report of the tests what came of each part of a program that was run by ``in_parts.py``.

    That is ``passed``, ``failed: `` with what was said, or ``lacking: `` with what this PyTorch does not have.
    """
    lines = said.splitlines()
    for name, _ in in_parts.parts(program)[1:]:
        for begin in (f"{in_parts.FAILED}{name}: ", f"{in_parts.LACKING}{name}: "):
            found = [line.removeprefix(begin) for line in lines if line.startswith(begin)]
            if found:
                keep(name, begin.partition(":")[0].removeprefix("part ") + ": " + found[0])
                break
        else:
            keep(name, "passed" if in_parts.PASSED + name in lines else "failed: the program ended before it")


class _Became(BaseException):
    """Stands for becoming the program, after which nothing of the command is left."""


def becomes(*arguments: str) -> tuple[list[str], dict[str, str], str]:
    """What ``npuify simulate ARGUMENTS`` becomes, with which environment, and what it says before."""
    with (
        mock.patch.dict(os.environ, environment(), clear=True),
        mock.patch.object(os, "execve", side_effect=_Became) as became,
        contextlib.redirect_stderr(io.StringIO()) as said,
        pytest.raises(_Became),
    ):
        get_command(app).main(["simulate", *arguments], "npuify", standalone_mode=False)
    _, command, environ = became.call_args.args
    return command, environ, said.getvalue()


@pytest.fixture
def simulate(tmp_path: Path, record_property: Callable[[str, object], None], on_npus: Warm) -> Simulate:
    """Run a program's text, and give what it printed; its exit code must be ``code``.

    The command line is that of ``npuify simulate``; what it becomes runs in a fork. That it becomes it, test_launch.py shows.
    """

    def run(program: str, *options: str, arguments: tuple[str, ...] = (), code: int = 0) -> str:
        file, text = tmp_path / "program.py", textwrap.dedent(program)
        file.write_text(text, encoding="utf-8")
        in_one_go = len(in_parts.parts(text)) == 1
        scripts = [str(file)] if in_one_go else [in_parts.__file__, str(file)]
        command, environ, said = becomes(*options, *scripts, *arguments)
        assert command[0] == sys.executable
        (done,) = on_npus.run(Program(command[1:], tmp_path, environ))
        if not in_one_go:
            keep_parts(text, done.stdout, record_property)
        assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
        return done.stdout + said + done.stderr

    return run


@pytest.fixture
def start(tmp_path: Path) -> Simulate:
    """As :func:`simulate`, in a process of its own, as users start it."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    if not any(shutil.which(name) for name in ("g++", "clang++", "c++")):
        pytest.skip("no C++ compiler")

    def run(program: str, *options: str, arguments: tuple[str, ...] = (), code: int = 0) -> str:
        file = tmp_path / "program.py"
        file.write_text(textwrap.dedent(program), encoding="utf-8")
        command = [sys.executable, "-m", "npuify", "simulate", *options, str(file), *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    return run
