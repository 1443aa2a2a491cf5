"""The process that examines projects, one after the other: tasks come by its input, outcomes go by its output.

It runs until its input ends, or its memory is beyond the limit, which ends it at once: whoever started it tells that
from its exit code. What it prints, and what crashes it, goes to the error stream.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import struct
import sys
import threading
import time
from pathlib import Path
from typing import IO, Final

import msgspec

from npuify.fleet.model import Outcome, Task

TOO_MUCH_MEMORY: Final = 77
"""Exit code of a process that needs more than it may."""
STAGE: Final = b"stage"
"""Sent when the files of a project are there."""
_LENGTH: Final = struct.Struct(">Q")
_LOOKS: Final = 0.1
_FATTEST: Final = 400 << 20
"""Bytes with which a process is replaced before the next project, so that one large project costs memory only once."""


def main() -> None:
    """Serve the process that started this one."""
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with contextlib.suppress(OSError, RuntimeError):
        faulthandler.enable()
    watch = _Watch()
    # Imported here, so that the first project does not pay for it in its time.
    from npuify.fleet.examine import examine

    while (data := receive(requests)) is not None:
        task = msgspec.msgpack.decode(data, type=Task)
        watch.limit = task.limits.memory
        outcome = examine(task, lambda: send(answers, STAGE))
        watch.limit = 0
        send(answers, msgspec.msgpack.encode(outcome))
        if memory() > _FATTEST:
            return


class _Watch:
    """Ends this process where its memory is beyond ``limit``, in bytes; 0 is no limit."""

    def __init__(self) -> None:
        self.limit = 0
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            time.sleep(_LOOKS)
            if self.limit and memory() > self.limit:
                os._exit(TOO_MUCH_MEMORY)


def memory() -> int:
    """Bytes of memory that this process has; where the system does not tell, the most that it ever had."""
    with contextlib.suppress(OSError, ValueError, IndexError, AttributeError):
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


# --- what is sent ---


def send(stream: IO[bytes], data: bytes) -> None:
    """Send one message.

    Raises:
        OSError: nobody reads any more.
    """
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    """The next message; None where there is no whole one any more."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = stream.read(length)
    return data if len(data) == length else None


def outcome_of(data: bytes) -> Outcome:
    """What a message says became of a task."""
    return msgspec.msgpack.decode(data, type=Outcome)


if __name__ == "__main__":
    main()
