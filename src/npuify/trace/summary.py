"""A trace's calls, put together for people."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from npuify.language import mark
from npuify.trace.result import Support

if TYPE_CHECKING:
    from npuify.trace.result import Call, TraceResult

ORDER = (Support.UNSUPPORTED, Support.TYPE, Support.FALLBACK, Support.COMPOSITE, Support.KERNEL)
"""Worst first."""

TITLES = {
    Support.UNSUPPORTED: mark("not in this release"),
    Support.TYPE: mark("with types that the documentation or the chip does not name"),
    Support.FALLBACK: mark("on the host's CPU"),
    Support.COMPOSITE: mark("made of other operators by PyTorch"),
    Support.KERNEL: mark("on the NPU"),
}


class Operator(NamedTuple):
    """One operator of the whole trace."""

    name: str
    support: Support
    times: int
    places: int
    """Different lines that call it."""
    message: str
    calls: tuple[Call, ...]


def operators(result: TraceResult) -> tuple[Operator, ...]:
    """All operators, worst first, then those called most."""
    groups: dict[tuple[str, Support, str], list[Call]] = {}
    for call in result.calls:
        groups.setdefault((call.name, call.support, call.message), []).append(call)
    rows = [
        Operator(
            name, support, sum(c.count for c in calls), len({(c.file, c.line) for c in calls}), message, tuple(calls)
        )
        for (name, support, message), calls in groups.items()
    ]
    return tuple(sorted(rows, key=lambda row: (ORDER.index(row.support), -row.times, row.name)))


def counts(result: TraceResult) -> dict[Support, int]:
    """Calls for each kind of support."""
    found: Counter[Support] = Counter()
    for call in result.calls:
        found[call.support] += call.count
    return {support: found[support] for support in ORDER}


def fails(result: TraceResult, on: str) -> bool:
    """Whether a run that shall fail ``on`` something does: ``fallback`` includes what is worse."""
    worst = {"": (), "unsupported": ORDER[:2], "fallback": ORDER[:3]}[on]
    return any(call.support in worst for call in result.calls)
