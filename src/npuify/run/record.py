"""The trace: every place of the program at which something of CUDA was asked for, and what it became.

Nothing is kept unless a trace was asked for. One line of JSON stands for one place; processes that write to the same
file add up their counts.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import json
import linecache
import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npuify.language import phrase
from npuify.run.frames import INSIDE, package

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType

FORMAT = 1
EXACT, CHANGED, NONE = "exact", "changed", "no counterpart"
_PAUSE = 2.0
"""Seconds between two writings, while new places turn up."""


class Recorder:
    """The places of this process, and the file that they are written to."""

    def __init__(self, file: str) -> None:
        self.file = Path(file)
        self.sites: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._lock = threading.RLock()
        self._written = time.monotonic()
        self._process = os.getpid()
        self._pending = False
        """Whether what was added last is going to be written, although nothing new turns up."""

    def count(self, key: tuple[Any, ...]) -> bool:
        """Count a place that is known; False for a new one."""
        self._after_fork()
        site = self.sites.get(key)
        if site is None:
            return False
        site["count"] += 1
        return True

    def add(self, key: tuple[Any, ...], site: dict[str, Any]) -> None:
        """Remember a new place."""
        self._after_fork()
        with self._lock:
            self.sites[key] = {**site, "count": 1}
        if time.monotonic() - self._written > _PAUSE:
            self.write()
        elif not self._pending:
            # A process that is killed writes nothing at its end.
            self._pending = True
            timer = threading.Timer(_PAUSE, self._write_later)
            timer.daemon = True
            timer.start()

    def _write_later(self) -> None:
        self._pending = False
        self.write()

    def _after_fork(self) -> None:
        if self._process != os.getpid():
            # What the parent counted it writes itself.
            self._process, self.sites, self._lock = os.getpid(), {}, threading.RLock()
            self._pending = False
            _at_end_of_child()

    def write(self) -> None:
        """Add what was counted since the last time to the file, as a whole."""
        with self._lock:
            # A child that was forked and saw nothing holds what is its parent's to write.
            mine = self.sites if self._process == os.getpid() else {}
            self._written = time.monotonic()
            rows = [dict(site) for site in mine.values() if site["count"]]
            for site in mine.values():
                site["count"] = 0
        if not rows:
            return
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with _locked(self.file):
                known = {_identity(row): row for row in read(self.file)}
                for row in rows:
                    same = known.setdefault(_identity(row), {**row, "count": 0})
                    same["count"] += row["count"]
                text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in known.values())
                part = self.file.with_name(f".{self.file.name}.{os.getpid()}")
                part.write_text(text, encoding="utf-8")
                part.replace(self.file)
        except OSError as error:
            print(phrase("npuify run: the trace cannot be written: {error}", error=error), file=sys.stderr)


def read(file: Path) -> list[dict[str, Any]]:
    """The rows of a trace that other processes have written; lines that are none are left out."""
    rows = []
    with contextlib.suppress(FileNotFoundError), file.open(encoding="utf-8") as lines:
        for line in lines:
            with contextlib.suppress(ValueError):
                row = json.loads(line)
                if isinstance(row, dict) and isinstance(row.get("count"), int):
                    rows.append(row)
    return rows


def _identity(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(
        str(row.get(name)) for name in ("kind", "file", "line", "column", "call", "program", "became", "status")
    )


@contextlib.contextmanager
def _locked(file: Path) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # on Windows, processes may overwrite each other's counts
        yield
        return
    # The lock outlives no process. It stands beside the trace, because the trace itself is replaced.
    with file.with_name(f".{file.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


_recorder: Recorder | None = None


def start(file: str) -> None:
    """Begin to record."""
    global _recorder
    _recorder = Recorder(file)
    atexit.register(_recorder.write)
    program = {"kind": "run", "format": FORMAT, "program": sys.argv[:1] or [""], "arguments": sys.argv[1:]}
    if getattr(sys, "argv", None) and sys.argv[0] not in ("-c", ""):
        _recorder.add(("run",), {**program, "folder": str(Path.cwd())})


def is_on() -> bool:
    """Whether a trace is being written."""
    return _recorder is not None


def describe(**facts: str) -> None:
    """Add what becomes known of this run, such as the release in use."""
    if _recorder is not None and ("run",) in _recorder.sites:
        _recorder.sites[("run",)].update(facts)


def _at_end_of_child() -> None:
    """Children of multiprocessing end without the handlers of atexit, but call their own."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None and _recorder is not None:
        util.Finalize(None, _recorder.write, exitpriority=100)


def caller(frame: FrameType | None) -> FrameType | None:
    """The frame of the program or of a library that did something, ``frame`` or one that called it through the
    standard library; None where torch did it itself."""
    for _ in range(4):
        if frame is None or package(frame) in INSIDE:
            return None
        if not _is_standard(frame.f_code.co_filename):
            return frame
        frame = frame.f_back
    return None


_STANDARD = os.path.dirname(os.__file__)  # noqa: PTH120 - asked for at every call
_PACKAGES = tuple(os.path.join(_STANDARD, name) for name in ("site-packages", "dist-packages"))  # noqa: PTH118


def _is_standard(file: str) -> bool:
    return file.startswith((_STANDARD, "<frozen")) and not file.startswith(_PACKAGES)


def call(frame: FrameType | None, name: str, arguments: str, became: str, status: str, patch: str = "transfer") -> None:
    """Record that ``frame`` called or read ``name``, and what that became."""
    if _recorder is None or frame is None:
        return
    key = (frame.f_code, frame.f_lasti, name)
    if not _recorder.count(key):
        site = {"kind": "call", **_place(frame), "call": name, "arguments": arguments, "became": became}
        _recorder.add(key, {**site, "status": status, "patch": patch})


def is_known(frame: FrameType, name: str) -> bool:
    """Count a place that was described before; False where it has to be described with :func:`call`."""
    return _recorder is not None and _recorder.count((frame.f_code, frame.f_lasti, name))


def compared(frame: FrameType, word: str, other: str) -> None:
    """Record that a word of torch was compared with CUDA's."""
    place = caller(frame)
    if _recorder is not None and place is not None:
        plain = str.__str__(word)
        call(
            place,
            "compared",
            f"({plain!r}, {other!r})",
            phrase("{plain!r} counts as {other!r}", plain=plain, other=other),
            EXACT,
            "words",
        )


def variable(cuda: str, value: str, npu: str, changed: str) -> None:
    """Record that the program set a variable of the environment."""
    if _recorder is not None:
        frame = sys._getframe(2)
        status = EXACT if value == changed else CHANGED
        call(caller(frame), f"os.environ[{cuda!r}]", f"({value!r})", f"{npu}={changed}", status, "environment")


def _place(frame: FrameType) -> dict[str, Any]:
    code = frame.f_code
    file = code.co_filename
    line, end_line, column, end_column = _positions(code, frame.f_lasti, frame.f_lineno)
    return {
        "file": file if file.startswith("<") else os.path.abspath(file),  # noqa: PTH100
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
        "text": linecache.getline(file, line).strip()[:200],
        "function": code.co_name,
    }


def _positions(code: CodeType, instruction: int, line: int) -> tuple[int, int, int | None, int | None]:
    """First and last line, from 1, and columns, in bytes from 0, of what runs; columns are known from Python 3.11."""
    positions: Any = getattr(code, "co_positions", None)
    if positions is not None and instruction >= 0:
        found = next(itertools.islice(positions(), instruction // 2, None), None)
        if found is not None and found[0] is not None:
            return found[0], found[1] or found[0], found[2], found[3]
    return line, line, None, None
