"""The command line of a program, and becoming it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from collections.abc import Sequence


def command(arguments: Sequence[str], python: str, module: bool = False) -> list[str]:
    """What to run for ``npuify simulate ARGUMENTS``.

    A file that ends in .py, ``-m``, or ``-`` (the program comes from the standard input), is run by ``python``;
    ``torchrun`` and ``python`` are those of that same Python; anything else is a command to be found on the path,
    such as a shell script's interpreter.

    Raises:
        NpuifyError: there is nothing to run, no such file or command, or an option that there is not.
    """
    if not arguments:
        raise NpuifyError(
            "nothing to run", advice="for example: npuify simulate train.py, or npuify simulate torchrun train.py"
        )
    first, *rest = arguments
    if first.startswith("-") and first != "-":
        raise NpuifyError(
            phrase("npuify simulate has no option {first}", first=first),
            advice="options come before the program, the program's own after it; see npuify simulate --help",
        )
    if module:
        return [python, "-m", first, *rest]
    name = Path(first).name
    if name in ("torchrun", "torch_npu_run"):
        return [python, "-m", "torch.distributed.run", *rest]
    if name in ("python", "python3"):
        return [python, *rest]
    if first == "-":
        return [python, *arguments]
    if Path(first).is_file() and (first.endswith(".py") or not os.access(first, os.X_OK)):
        return [python, first, *rest]
    if first.endswith(".py"):
        raise NpuifyError(phrase("no such file: {first}", first=first))
    found = shutil.which(first)
    if found is None:
        raise NpuifyError(
            phrase("no such file or command: {first}", first=first),
            advice="name a Python file, -m MODULE, torchrun, or a command on the path",
        )
    return [found, *rest]


def is_shell(command: Sequence[str]) -> bool:
    """Whether a command is a shell, or a file that one reads."""
    name = Path(command[0]).name
    return name in ("sh", "bash", "dash", "zsh", "ksh") or name.endswith((".sh", ".bash"))


def watched(command: Sequence[str], environ: dict[str, str]) -> int:
    """Run a program as a child that gets the signals which this process gets.

    Returns:
        Its exit code; 128 and the signal's number, where one ended it.
    """
    sys.stdout.flush()
    child = subprocess.Popen(list(command), env=environ)
    kept = {}
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"):
        if (number := getattr(signal, name, None)) is not None:
            # At a terminal the child is told of Ctrl-C by itself.
            by_itself = name == "SIGINT" and os.isatty(0)
            kept[number] = signal.signal(
                number, signal.SIG_IGN if by_itself else lambda sent, _: child.send_signal(sent)
            )
    try:
        code = child.wait()
    finally:
        for number, before in kept.items():
            signal.signal(number, before)
    return code if code >= 0 else 128 - code


def become(command: Sequence[str], environ: dict[str, str]) -> int:
    """Run a program in place of this process. On Linux and macOS this does not return.

    Returns:
        The program's exit code, where it ran as a child.
    """
    if os.name == "posix":
        sys.stdout.flush()
        first = command[0]
        os.execve(first if os.path.isabs(first) else shutil.which(first) or first, list(command), environ)  # noqa: PTH117
    return subprocess.run(command, env=environ, check=False).returncode
