"""Where in the program's own files something is written."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

_OWN = os.sep + os.path.join("npuify", "verify", "capture") + os.sep  # noqa: PTH118 - a part of a name, no path
_LIBRARIES = ("site-packages", "dist-packages", f"{os.sep}lib{os.sep}python")


def of_function(function: Any, root: str) -> str:
    """``file:line`` of a function of the program; empty for one of a library."""
    code = getattr(function, "__code__", None)
    if code is None or not _is_own(code.co_filename):
        return ""
    return f"{_relative(code.co_filename, root)}:{code.co_firstlineno}"


def of_caller(root: str) -> str:
    """``file:line`` of the innermost line of the program that is at work; empty where there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if _OWN not in name and _is_own(name):
            return f"{_relative(name, root)}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def _is_own(name: str) -> bool:
    return not name.startswith("<") and not any(part in name for part in _LIBRARIES)


def _relative(name: str, root: str) -> str:
    full = os.path.realpath(name)
    base = os.path.realpath(root) if root else ""
    if base and full.startswith(base + os.sep):
        return Path(full[len(base) + 1 :]).as_posix()
    return Path(full).as_posix()
