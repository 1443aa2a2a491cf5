"""The Python that runs a program, and what it says of itself."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from npuify.language import phrase
from npuify.model import NpuifyError


def python_for(asked: str = "", *, needs: str = "torch") -> str:
    """The Python that runs the program: the one asked for, this one if it has ``needs``, else the first on the path.

    Args:
        asked: its name or path; empty for none.
        needs: a package that makes this Python the one to take; empty prefers the first on the path.

    Raises:
        NpuifyError: the one asked for does not exist.
    """
    if asked:
        found = shutil.which(asked)
        if found is None:
            raise NpuifyError(phrase("no such Python: {asked}", asked=asked))
        return found
    if needs and importlib.util.find_spec(needs) is not None:
        return sys.executable
    return shutil.which("python") or shutil.which("python3") or sys.executable


def answers(python: str, question: str, environ: dict[str, str], count: int) -> list[str]:
    """The last ``count`` lines that a Python prints for a piece of code.

    Raises:
        NpuifyError: it does not run.
    """
    done = subprocess.run([python, "-c", question], capture_output=True, text=True, check=False, env=environ)
    lines = done.stdout.splitlines()
    if done.returncode != 0 or len(lines) < count:
        raise NpuifyError(phrase("{python} does not run: {stderr}", python=python, stderr=done.stderr.strip()[-300:]))
    return lines[-count:]


def first_on_path(python: str, path: str) -> str:
    """``path`` such that scripts which say ``python3`` or ``torchrun`` get those of ``python``."""
    folder = str(Path(python).parent)
    if not Path(python).is_absolute() or shutil.which("python3", path=path) == str(Path(folder, "python3")):
        return path
    return os.pathsep.join(filter(None, (folder, path)))
