"""What every question uses: how it says that it cannot be asked, and what it may tell of an error."""

from __future__ import annotations

import contextlib
import getpass
import importlib
import inspect
import os
import re
import socket
from collections.abc import Callable, Iterator
from typing import Any

LONGEST = 300
"""Characters of an error that are told."""
_PATH = re.compile(r"(?<![\w.])(?:[A-Za-z]:)?[\\/](?:[^\s'\"\\/:]+[\\/])*[^\s'\":]*")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+\b|\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b|\b[0-9a-f]{16,}\b")
_UNSTEADY = re.compile(r"\[?\b(?:ERROR|PID:\d+|\d{4}-\d\d-\d\d[-T ]\d\d:\d\d:\d\d\S*)\]?:?")


class CannotAsk(Exception):
    """The question has no answer here; the text says why."""


def told(error: BaseException) -> str:
    """An error as a result may name it: its type and first line, without anything of the machine."""
    text = f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}".removesuffix(": ")
    return without_machine(text)


def without_machine(text: str) -> str:
    """``text`` without paths, addresses, times, and the names of this host and user."""
    for pattern in (_PATH, _ADDRESS, _UNSTEADY):
        text = pattern.sub("...", text)
    for name in _own_names():
        text = re.sub(rf"\b{re.escape(name)}\b", "...", text)
    return "".join(c for c in " ".join(text.split()) if c.isprintable())[:LONGEST]


def _own_names() -> Iterator[str]:
    with contextlib.suppress(OSError):
        yield from {socket.gethostname(), socket.gethostname().partition(".")[0]} - {"", "localhost"}
    with contextlib.suppress(Exception):  # there may be no user of that number
        user = getpass.getuser()
        if user not in ("root", ""):
            yield user


def find(name: str) -> Any:
    """What a dotted name stands for, modules that nothing has imported yet included.

    Raises:
        AttributeError, ImportError: there is none.
    """
    top, *rest = name.split(".")
    found: Any = importlib.import_module(top)
    for part in rest:
        if inspect.ismodule(found) and not hasattr(found, part):
            with contextlib.suppress(ModuleNotFoundError):
                importlib.import_module(f"{found.__name__}.{part}")
        found = getattr(found, part)
    return found


def is_simulated(value: object = None) -> bool:
    """Whether the torch_npu that is there is npuify's own."""
    return str(getattr(importlib.import_module("torch_npu"), "__version__", "")).endswith("+simulated")


def is_stand_in() -> bool:
    """Whether npuify's stand-ins for the driver are here, which compute nothing: some of what they are asked to is an
    error, and some is left as the memory was."""
    return any(name.startswith("NPUIFY_STAND_IN_") for name in os.environ)


def kernels_missing(error: BaseException) -> bool:
    """Whether an error says no more than that npuify's stand-in for the driver has no kernels."""
    if not is_stand_in():
        return False
    from npuify.selftest.inside.forms.kernels import lacks_kernel

    return lacks_kernel(error)


def raised(function: Callable[[], object]) -> str:
    """The type of what a call raises; empty where it raises nothing."""
    try:
        function()
    except Exception as error:
        if type(error).__name__ == "NotSimulated":
            raise
        return type(error).__name__
    return ""
