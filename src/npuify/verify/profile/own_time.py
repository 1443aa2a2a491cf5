"""The time that operators take by themselves: without that of the operators which they call."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

_AT_ONCE: Final = 1024
"""Events of one thread that are brought into order together: profilers write them nearly in order, and long traces
must not be held whole."""


class OwnTimes:
    """Takes events; those of one thread lie within each other, or apart."""

    def __init__(self) -> None:
        self._waiting: defaultdict[Any, list[tuple[float, float, str]]] = defaultdict(list)
        self._around: defaultdict[Any, list[tuple[float, str]]] = defaultdict(list)
        """Of each thread the operators that are not over yet: their ends and names, the innermost last."""
        self._own: defaultdict[str, float] = defaultdict(float)

    def add(self, thread: Any, name: str, start: float, duration: float) -> None:
        """One more event. Times in microseconds."""
        waiting = self._waiting[thread]
        # Of those that begin together the longer one is around the other.
        waiting.append((start, -duration, name))
        if len(waiting) >= 2 * _AT_ONCE:
            waiting.sort()
            self._take(thread, waiting[:_AT_ONCE])
            del waiting[:_AT_ONCE]

    def by_name(self) -> dict[str, float]:
        """Each name's own time; of all threads together."""
        for thread, waiting in self._waiting.items():
            self._take(thread, sorted(waiting))
            waiting.clear()
        return {name: max(time, 0.0) for name, time in self._own.items()}

    def _take(self, thread: Any, events: list[tuple[float, float, str]]) -> None:
        around = self._around[thread]
        for start, minus, name in events:
            while around and around[-1][0] <= start:
                around.pop()
            if around:
                # What ends later than what is around it does not lie within it.
                end, outer = around[-1]
                self._own[outer] -= min(-minus, end - start)
            self._own[name] -= minus
            around.append((start - minus, name))
