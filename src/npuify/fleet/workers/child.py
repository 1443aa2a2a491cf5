"""A process that examines projects, as the one that started it sees it: it may crash, hang, and grow without end."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from typing import IO, TYPE_CHECKING, Final

import msgspec

from npuify.fleet.examine import out_of_memory
from npuify.fleet.model import Fault, Outcome
from npuify.fleet.workers.inside import STAGE, TOO_MUCH_MEMORY, outcome_of, receive, send
from npuify.language import VARIABLE, phrase, speaking

if TYPE_CHECKING:
    from npuify.fleet.model import Task

_PROJECTS: Final = 250
"""Projects after which a process is replaced by a fresh one."""
_GRACE: Final = 2.0
"""Seconds beyond a limit that the process tells of by itself, as git's, before it is ended."""
_PROGRAM: Final = (
    "import sys; sys.path[:] = [one for one in sys.path if one]; from npuify.fleet.workers.inside import main; main()"
)
"""With -m, Python would look for npuify in the folder that this was started in first."""
_MOST_SAID: Final = 400


class Child:
    """One process at a time, replaced when it ends, has done much, or had to be ended. Used by one thread at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._done = 0
        self._lock = threading.Lock()
        self._closed = False

    def run(self, task: Task) -> Outcome:
        """What becomes of a task, whatever happens to the process.

        A process that dies with its first project dies of it. One that had others before may die of these, so that the
        project is tried once more, in a fresh one.
        """
        fresh = self._process is None or self._process.poll() is not None or self._done >= _PROJECTS
        outcome = self._run(task)
        if outcome.fault is not None and outcome.fault.kind in ("crash", "memory") and not fresh and not self._closed:
            outcome = self._run(task)
        return outcome

    def close(self) -> None:
        """End the process, with all that it started; a task that it works on fails. Any thread may call this."""
        self._closed = True
        self._end()

    def _run(self, task: Task) -> Outcome:
        if self._done >= _PROJECTS:
            self._end()
        clones = tempfile.mkdtemp(prefix="npuify-fleet-") if task.source.is_git else ""
        try:
            return self._asked(msgspec.structs.replace(task, clones=clones))
        finally:
            if clones:
                shutil.rmtree(clones, ignore_errors=True)

    def _asked(self, task: Task) -> Outcome:
        process = self._started()
        if process is None:
            return Outcome(fault=Fault("crash", phrase("the run was ended"), phrase("run the command again to go on")))
        assert process.stdin is not None
        assert process.stdout is not None
        overdue = threading.Event()

        def late() -> None:
            overdue.set()
            self._kill(process)

        timer: threading.Timer | None = None
        try:
            timer = _timer(task.limits.seconds + (_GRACE if task.source.is_git else 0), late)
            send(process.stdin, msgspec.msgpack.encode(task))
            while (answer := receive(process.stdout)) == STAGE:
                timer.cancel()
                timer = _timer(task.limits.seconds, late)
        except OSError:
            answer = None
        finally:
            if timer is not None:
                timer.cancel()
        if answer is not None:
            self._done += 1
            return outcome_of(answer)
        with speaking(task.language):
            return Outcome(fault=self._why(task, process, overdue=overdue.is_set()), seconds=task.limits.seconds)

    def _started(self) -> subprocess.Popen[bytes] | None:
        """The process; None where no more may be started."""
        with self._lock:
            if self._closed:
                return None
            if self._process is None or self._process.poll() is not None:
                self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
                self._done = 0
                self._process = subprocess.Popen(
                    [sys.executable, "-c", _PROGRAM],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._errors,
                    env={**os.environ, VARIABLE: os.environ.get(VARIABLE, "en")},
                    # Ctrl-C is for the run as a whole; what a project started ends with it.
                    start_new_session=os.name == "posix",
                )
            return self._process

    def _why(self, task: Task, process: subprocess.Popen[bytes], *, overdue: bool) -> Fault:
        """Why the process ended before it answered."""
        self._kill(process)
        code = process.wait()
        said = self._said()
        self._end()
        if overdue:
            return Fault(
                "time",
                phrase("took more than {seconds} seconds", seconds=f"{task.limits.seconds:g}"),
                phrase("raise --timeout, or leave parts out with --exclude or [tool.npuify] exclude"),
            )
        if code == TOO_MUCH_MEMORY:
            return out_of_memory(task)
        if self._closed:
            return Fault("crash", phrase("the run was ended"), phrase("run the command again to go on"))
        how = phrase("exit code {code}", code=code) if code >= 0 else _signal(-code)
        message = phrase("the process that examined it ended: {how}", how=how)
        if code == -9:
            return Fault("memory", message, phrase("the system may lack memory: use fewer --jobs"))
        advice = phrase("npuify scan on it alone shows more; please report it")
        return Fault("crash", f"{message}. {said}" if said else message, advice)

    def _said(self) -> str:
        """The last that the process wrote to its error stream."""
        if self._errors is None:
            return ""
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - 4000))
        lines = self._errors.read().decode("utf-8", "replace").splitlines()
        told = [line.strip() for line in lines if line.strip()]
        first = next((line for line in told if line.startswith("Fatal Python error")), "")
        return (first or (told[-1] if told else ""))[:_MOST_SAID]

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()

    def _end(self) -> None:
        with self._lock:
            process, self._process = self._process, None
            errors, self._errors = self._errors, None
        if process is not None:
            self._kill(process)
            process.wait()
            for stream in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    if stream is not None:
                        stream.close()
        if errors is not None:
            errors.close()


def _timer(seconds: float, late: object) -> threading.Timer:
    timer = threading.Timer(seconds, late)  # type: ignore[arg-type]
    timer.daemon = True
    timer.start()
    return timer


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return phrase("signal {number}", number=number)
