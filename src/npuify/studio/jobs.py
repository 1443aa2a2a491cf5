"""Work that takes a while: its progress, its end, and how it is stopped."""

from __future__ import annotations

import threading
import traceback
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from npuify.language import phrase
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
Progress: TypeAlias = "Callable[[int, int], None]"


class Cancelled(BaseException):
    """The user stopped the work. Not an ``Exception``: nothing on the way may take it for a failure of one file."""


class Job(Generic[T]):
    """One piece of work in a thread of its own.

    Args:
        work: given what it tells its progress by, first while files are read and then while they are migrated; each
            ends the work where the user asked for that.
    """

    def __init__(self, work: Callable[[Progress, Progress], T]) -> None:
        self._work = work
        self._cancelled = threading.Event()
        self._state = "running"
        self._phase, self._done, self._total = "reading", 0, 0
        self._error: dict[str, Any] = {}
        self.answer: T | None = None
        threading.Thread(target=self._run, daemon=True).start()

    def cancel(self) -> None:
        """End it at the next file; it counts as ended at once."""
        self._cancelled.set()

    def told(self) -> dict[str, Any]:
        """How it stands: ``running``, ``ready``, ``cancelled`` or ``failed``, the last with what is wrong."""
        state = "cancelled" if self._cancelled.is_set() else self._state
        told = {"state": state, "phase": self._phase, "done": self._done, "total": self._total}
        return {**told, **(self._error if state == "failed" else {})}

    def _progress(self, phase: str, done: int, total: int) -> None:
        if self._cancelled.is_set():
            raise Cancelled
        self._phase, self._done, self._total = phase, done, total

    def _run(self) -> None:
        try:
            self.answer = self._work(partial(self._progress, "reading"), partial(self._progress, "migrating"))
            self._state = "ready"
        except Cancelled:
            self._state = "cancelled"
        except NpuifyError as error:
            self._error = told_error(error)
            self._state = "failed"
        except Exception as error:
            traceback.print_exc()
            self._error = {
                "error": phrase("this is a bug in npuify: {name}: {error}", name=type(error).__name__, error=error),
                "advice": "",
            }
            self._state = "failed"


def told_error(error: NpuifyError) -> dict[str, Any]:
    """What the page shows of what went wrong."""
    return {"error": error.message, "advice": error.advice, "file": error.file, "line": error.line}
