"""The Python beside the NPU, as the runner sees it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from npuify.language import phrase
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

INSIDE: Final = Path(__file__).parent / "inside" / "__main__.py"
_TO_START: Final = 300.0
"""Seconds that importing torch_npu may take."""
_BESIDES: Final = 90.0
"""Seconds that may pass besides those that a question has."""

Message = dict[str, Any]


class WorkerGone(Exception):
    """The process has ended, or is silent, without an answer to what it was asked."""


class Worker:
    """A process that answers batches of questions; see :mod:`npuify.selftest.inside.server`.

    Args:
        python: the interpreter that has torch and torch_npu.
        environment: variables beside those of this process.

    Raises:
        NpuifyError: torch_npu cannot be imported there.
    """

    def __init__(self, python: str, environment: Mapping[str, str]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the worker
        self._process = subprocess.Popen(
            [python, str(INSIDE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, **environment},
            start_new_session=sys.platform != "win32",
        )
        self._rest = b""
        try:
            said = self._read(_TO_START)
        except WorkerGone:
            error = self._last_line()
            self.close()
            raise NpuifyError(
                phrase("{python} cannot import torch_npu: {error}", python=python, error=error),
                advice=phrase("run npuify doctor, or name another Python with --python"),
            ) from None
        if "cannot" in said:
            self.close()
            raise NpuifyError(
                phrase("{python} cannot import torch_npu: {error}", python=python, error=said["cannot"]),
                advice=phrase("run npuify doctor, or name another Python with --python"),
            )

    def ask(self, questions: Sequence[Message]) -> Iterator[Message]:
        """What is said of the questions, as it comes.

        Raises:
            WorkerGone: the worker itself has ended or hangs.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(list(questions)).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise WorkerGone from error
        longest = max(question["seconds"] for question in questions) + _BESIDES
        while not (message := self._read(longest)).get("done"):
            yield message

    def _read(self, seconds: float) -> Message:
        assert self._process.stdout is not None
        until = time.monotonic() + seconds
        while b"\n" not in self._rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                raise WorkerGone
            piece = os.read(self._process.stdout.fileno(), 1 << 16)
            if not piece:
                raise WorkerGone
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        return dict(json.loads(line))

    def _last_line(self) -> str:
        """The last of what it wrote to its error stream, or how it ended."""
        self._errors.seek(0)
        lines = self._errors.read()[-4000:].decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else phrase("the process ended")

    def close(self) -> None:
        """End it, with all that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform != "win32":
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._process.wait()
        self._errors.close()
