"""Stretches of time: how much of them at least one of many covers."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_TIDY: Final = 1 << 18
"""Stretches that are kept before those that touch are joined."""


class Intervals:
    """Stretches of time, in any order; 16 bytes each, and those that touch are joined from time to time."""

    def __init__(self) -> None:
        self._starts = array("d")
        self._ends = array("d")
        self._limit = _TIDY
        self._joined = True

    def __bool__(self) -> bool:
        return bool(self._starts)

    def __iter__(self) -> Iterator[tuple[float, float]]:
        self.join()
        return zip(self._starts, self._ends, strict=True)

    def add(self, start: float, duration: float) -> None:
        """One more stretch."""
        if duration <= 0:
            return
        if self._ends and start <= self._ends[-1] and start >= self._starts[-1]:
            # The usual case: kernels of one stream follow each other.
            self._ends[-1] = max(self._ends[-1], start + duration)
            return
        self._starts.append(start)
        self._ends.append(start + duration)
        self._joined = False
        if len(self._starts) >= self._limit:
            self.join()
            self._limit = max(_TIDY, 2 * len(self._starts))

    def join(self) -> None:
        """Bring them into order, and make one of those that overlap or touch."""
        if self._joined:
            return
        order = sorted(range(len(self._starts)), key=self._starts.__getitem__)
        starts, ends = array("d"), array("d")
        for place in order:
            start, end = self._starts[place], self._ends[place]
            if ends and start <= ends[-1]:
                ends[-1] = max(ends[-1], end)
            else:
                starts.append(start)
                ends.append(end)
        self._starts, self._ends, self._joined = starts, ends, True

    def total(self) -> float:
        """The time that at least one covers."""
        self.join()
        return sum(self._ends) - sum(self._starts)

    def within(self, start: float, end: float) -> float:
        """The covered time between ``start`` and ``end``."""
        self.join()
        first = bisect_right(self._ends, start)
        last = bisect_left(self._starts, end)
        return sum(min(self._ends[place], end) - max(self._starts[place], start) for place in range(first, last))

    def shared(self, other: Intervals) -> float:
        """The time that both cover."""
        self.join()
        other.join()
        found, mine, theirs = 0.0, 0, 0
        while mine < len(self._starts) and theirs < len(other._starts):
            start = max(self._starts[mine], other._starts[theirs])
            end = min(self._ends[mine], other._ends[theirs])
            if end > start:
                found += end - start
            if self._ends[mine] < other._ends[theirs]:
                mine += 1
            else:
                theirs += 1
        return found

    def cut(self, start: float, end: float) -> Intervals:
        """What lies between ``start`` and ``end``."""
        self.join()
        made = Intervals()
        for place in range(bisect_right(self._ends, start), bisect_left(self._starts, end)):
            low, high = max(self._starts[place], start), min(self._ends[place], end)
            if high > low:
                made._starts.append(low)
                made._ends.append(high)
        return made

    def span(self) -> tuple[float, float] | None:
        """The first start and the last end; None where there are none."""
        self.join()
        return (self._starts[0], self._ends[-1]) if self._starts else None
