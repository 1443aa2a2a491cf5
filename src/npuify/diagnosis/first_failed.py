"""The rank that torchrun says failed first, in a table after its own error."""

from __future__ import annotations

import re
from typing import Final

_ANNOUNCED: Final = "ChildFailedError"
_ROW: Final = re.compile(
    r"first observed failure[\s\S]*?rank\s*:\s*(\d+) \(local_rank: \d+\)(?:[\s\S]{0,80}?exitcode\s*:\s*(-?\d+))?"
)
_MOST_LINES: Final = 80
"""Lines of a table that are read."""


class FirstFailed:
    """Reads the table, which may go on in the next piece of a log; the first one that names a rank counts."""

    def __init__(self) -> None:
        self.rank = ""
        """The rank that failed first; empty where no table names one."""
        self.exit_code = 0
        """The code with which it ended; below zero: a signal."""
        self._table: list[bytes] | None = None
        """The table, as far as it was read; None outside of one."""

    def start_file(self) -> None:
        """A table ends with its file."""
        self._table = None

    def go_on(self, piece: bytes) -> None:
        """Read what the piece before left open."""
        if self._table is not None:
            self._read(piece[:8000].split(b"\n"))

    def look(self, message: str, lines: list[bytes], index: int) -> None:
        """Begin to read where a line announces the table.

        Args:
            message: the line.
            lines: the lines of the piece.
            index: where the line stands among them.
        """
        if _ANNOUNCED in message and not self.rank:
            self._table = []
            self._read(lines[index : index + 60])

    def _read(self, lines: list[bytes]) -> None:
        self._table = [*(self._table or ()), *lines]
        found = _ROW.search(b"\n".join(self._table[:_MOST_LINES]).decode("utf-8", "replace"))
        if found:
            self.rank, self.exit_code = found[1], int(found[2] or 0)
        if found or len(self._table) >= _MOST_LINES:
            self._table = None
