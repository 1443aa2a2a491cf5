"""One process's file of records: lines of JSON, and beside them the values of tensors, one after the other.

Both files only grow, so that memory stays bounded and a program that dies leaves a capture up to that point.
"""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from npuify.verify.capture.settings import Settings

RECORDS = "records.jsonl"
VALUES = "values.bin"
END = "end.json"


class Store:
    """Opens its files at the first record, when the process knows which rank it is."""

    def __init__(
        self,
        settings: Settings,
        rank: Callable[[], int] | None = None,
        process: Callable[[], dict[str, Any]] | None = None,
    ) -> None:
        """``rank`` and ``process`` tell which rank this is, and of what; PyTorch is asked where they are not given."""
        self._settings = settings
        self._rank = rank or _rank
        self._process = process
        self._lock = threading.RLock()
        self._records: Any = None
        self._values: Any = None
        self._folder: Path | None = None
        self._waiting: list[dict[str, Any]] = []
        self._owner = os.getpid()
        self._told: set[str] = set()
        self.written = 0
        """Bytes of values so far."""
        self.full = False
        """Whether the limit has been reached: values are left out since then, statistics are not."""
        self.sequence = 0
        self.seconds = 0.0
        """Time spent on describing and writing."""

    def note(self, record: dict[str, Any]) -> None:
        """Keep a record for the case that there will be others: alone it opens no file."""
        with self._lock:
            if self._records is None:
                self._waiting.append(record)
            else:
                self.put(record)

    def note_once(self, text: str) -> None:
        """Tell something of the capture itself, once."""
        if text not in self._told:
            self._told.add(text)
            self.note({"event": "note", "text": text})

    def put(self, record: dict[str, Any]) -> None:
        """Write a record."""
        with self._lock:
            if os.getpid() != self._owner:
                return
            if self._records is None:
                self._open()
            self._records.write(json.dumps(record, separators=(",", ":")) + "\n")

    def values(self, data: bytes) -> int:
        """Write values of a tensor.

        Returns:
            Where they begin in the file; -1 where there is no room for them.
        """
        with self._lock:
            if os.getpid() != self._owner:
                return -1
            if self._values is None:
                self._open()
            if self.written + len(data) > self._settings.limit:
                self.full = True
                return -1
            start = self.written
            self._values.write(data)
            self.written += len(data)
            return start

    def flush(self) -> None:
        """Let the files hold all that was written: a program that is killed closes nothing."""
        with self._lock:
            if self._folder is not None and os.getpid() == self._owner:
                self._values.flush()
                self._records.flush()

    def next(self) -> int:
        """A number that grows with time."""
        with self._lock:
            self.sequence += 1
            return self.sequence

    def close(self, **known: Any) -> None:
        """Write what is known at the end, and close the files."""
        with self._lock:
            if self._records is None or os.getpid() != self._owner or self._folder is None:
                return
            self._records.close()
            self._values.close()
            whole = {"full": self.full, "values": self.written, "seconds": round(self.seconds, 3), **known}
            (self._folder / END).write_text(json.dumps(whole), encoding="utf-8")
            self._folder = None

    def _open(self) -> None:
        rank = self._rank()
        number = 1
        while True:
            folder = Path(self._settings.folder, f"rank{rank}" if number == 1 else f"rank{rank}-{number}")
            try:
                folder.mkdir(parents=True)
                break
            except FileExistsError:
                number += 1
        self._folder = folder
        self._records = (folder / RECORDS).open("w", encoding="utf-8", buffering=1 << 16)
        self._values = (folder / VALUES).open("wb", buffering=1 << 20)
        self.put({"event": "process", "rank": rank, "time": time.time(), **self._described()})
        waiting, self._waiting = self._waiting, []
        for record in waiting:
            self.put(record)

    def _described(self) -> dict[str, Any]:
        if self._process is not None:
            return self._process()
        from npuify.verify.capture.machine import described

        return described()


def _rank() -> int:
    import torch

    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return int(torch.distributed.get_rank())
    text = os.environ.get("RANK", "0")
    return int(text) if text.isdigit() else 0
