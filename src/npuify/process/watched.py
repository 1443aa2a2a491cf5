"""A program that runs beside this one: its output as it comes, and its end, by itself or when it is told to."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_KEPT: Final = 4_000_000
"""Characters of output that are kept: the last ones."""
_SECONDS: Final = 5.0
"""What a program has to end by itself, when it is told to."""


class Watched:
    """A program, in a group of processes of its own.

    Args:
        command: program and arguments; no shell reads them.
        folder: to run in.
        environment: whole.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="backslashreplace",
            start_new_session=os.name == "posix",
        )
        self._lock = threading.Lock()
        self._text = ""
        self._dropped = 0
        self._code: int | None = None
        threading.Thread(target=self._read, daemon=True).start()

    def after(self, position: int) -> tuple[str, int, int | None]:
        """The output from a position on, the position of its end, and the exit code once it has ended."""
        with self._lock:
            start = max(position - self._dropped, 0)
            return self._text[start:], self._dropped + len(self._text), self._code

    def stop(self) -> None:
        """End it with all that it started: kindly, and after some seconds not so."""
        if self._process.poll() is None:
            self._signal(signal.SIGTERM)
            threading.Thread(target=self._insist, daemon=True).start()

    def _insist(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_SECONDS)
        self._signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)

    def _signal(self, number: signal.Signals) -> None:
        try:
            if os.name == "posix":
                os.killpg(self._process.pid, number)
            else:
                self._process.terminate()
        except (ProcessLookupError, PermissionError):
            return

    def _read(self) -> None:
        assert self._process.stdout is not None
        while piece := self._process.stdout.readline(65536):
            with self._lock:
                self._text += piece
                if len(self._text) > 2 * _KEPT:
                    self._dropped += len(self._text) - _KEPT
                    self._text = self._text[-_KEPT:]
        code = self._process.wait()
        with self._lock:
            self._code = code
