"""What a card would have got, as lines of JSON for the ``npuify simulate`` that started the program."""

from __future__ import annotations

import atexit
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

VARIABLE = "NPUIFY_SIMULATE_JOURNAL"
_lock = threading.Lock()
_counts: dict[str, int] = {}
_told: set[str] = set()
_file: Any = None


def note(event: str, **details: Any) -> None:
    """Record something that happened once: a session, a device, an option."""
    _write({"event": event, **details})


def count(what: str, number: int = 1) -> None:
    """Count something that happens often: a run, a reduced tensor. The sums are written as the program ends."""
    with _lock:
        _counts[what] = _counts.get(what, 0) + number


def counted(what: str) -> int:
    """How often it happened so far."""
    return _counts.get(what, 0)


def tell(topic: str, text: str) -> None:
    """Something that gives no error and is not as meant; each topic once for a process."""
    if topic in _told:
        return
    _told.add(topic)
    _write({"event": "told", "topic": topic, "text": text})


def _write(row: dict[str, Any]) -> None:
    global _file
    folder = os.environ.get(VARIABLE, "")
    if not folder:
        return
    row = {"time": round(time.time(), 3), "rank": rank(), **row}
    with _lock:
        if _file is None or _file.name != _place(folder):
            _file = Path(_place(folder)).open("a", encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
        _file.write(json.dumps(row, default=str) + "\n")
        _file.flush()


def _place(folder: str) -> str:
    return str(Path(folder, f"{os.getpid()}.jsonl"))


def rank() -> int:
    """The rank that this process was started as; 0 where it was told none."""
    written = os.environ.get("RANK_ID", "")
    if not written and os.environ.get("CM_WORKER_SIZE"):
        # Where CM tells who is who, the chief numbers the ranks: by machine, then by card, as a launch script counts.
        written = os.environ.get("RANK", "") or os.environ.get("ASCEND_DEVICE_ID", "")
    return int(written) if written.isdigit() else 0


def _end() -> None:
    if _counts:
        _write({"event": "counts", **_counts})


atexit.register(_end)
