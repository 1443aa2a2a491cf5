"""A program that does not end, with a child that does not end: for tests of what ends both when their time is over.

The time is over when both are there, not after seconds that are too few on a slow machine and too many on a fast one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING
from unittest import mock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType
    from typing import Any

_CHILD = "import time; told = open({!r}, 'w'); print('there', file=told, flush=True); time.sleep(300); print('late', file=told)"


class Hanging:
    """The program's text, and, as a context, a ``subprocess`` whose limits of time are over when it hangs."""

    def __init__(self, folder: Path) -> None:
        self._pipe = str(folder / "told by the child")
        os.mkfifo(self._pipe)
        child = _CHILD.format(self._pipe)
        self.program = (
            f"import subprocess, time; subprocess.Popen([{sys.executable!r}, '-c', {child!r}]); time.sleep(300)"
        )
        self._told: IO[str] | None = None
        self._patches = ExitStack()

    def __enter__(self) -> Hanging:
        for name in ("wait", "communicate"):
            self._patches.enter_context(mock.patch.object(subprocess.Popen, name, self._limited(name)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._patches.close()

    def _limited(self, name: str) -> Callable[..., Any]:
        real = getattr(subprocess.Popen, name)

        def limited(process: subprocess.Popen[Any], *arguments: Any, timeout: float | None = None, **more: Any) -> Any:
            if name == "wait" and arguments:
                (timeout,), arguments = arguments, ()
            if timeout is None:
                return real(process, *arguments, **more)
            self._told = open(self._pipe, encoding="utf-8")  # noqa: PTH123, SIM115 - read to its end by `late`
            assert self._told.readline() == "there\n"
            raise subprocess.TimeoutExpired(process.args, timeout)

        return limited

    def late(self) -> str:
        """What the child has told since; this waits until it has ended, and is nothing if it was ended."""
        assert self._told is not None
        with self._told:
            return self._told.read()
