"""From (step, value) pairs as they stand in a file to a curve with increasing steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.language import phrase, plural
from npuify.model import NpuifyError

from .model import Curve

if TYPE_CHECKING:
    from collections.abc import Sequence


def number(value: object) -> float | None:
    """``value`` as a number; None where it is none. ``NaN`` and ``inf`` are numbers here."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, str):
        try:
            return float(value.strip().replace("_", "x"))
        except ValueError:
            return None
    return None


def whole(value: object) -> int | None:
    """``value`` as the number of a step; None where it is none."""
    found = number(value)
    if found is None or found != found or found in (float("inf"), float("-inf")) or found != int(found):
        return None
    return int(found)


def counted(count: int, word: str) -> str:
    """``3 lines``."""
    return plural(f"{{count}} {word}", f"{{count}} {word}s", count)


def make_curve(
    file: str,
    kind: str,
    metric: str,
    points: Sequence[tuple[int | None, float]],
    notes: Sequence[str] = (),
    device: str = "",
) -> Curve:
    """A curve of ``points`` in the order in which they were written.

    A step that was written before is a run that went on from a checkpoint: what came later counts, and what lies after
    that step is taken back. Without steps, or where they start again with every epoch, points are counted from 1.

    Raises:
        NpuifyError: there are no points.
    """
    if not points:
        raise NpuifyError("it contains no loss values", file=file)
    told = list(notes)
    steps = [step for step, _ in points]
    named = all(step is not None for step in steps)
    restarts = sum(
        1 for one, two in zip(steps, steps[1:], strict=False) if one is not None and two is not None and two <= one
    )
    if named and restarts:
        # An epoch counts from its start each time; a run that is taken up again seldom does, and passes the old end.
        epochs = restarts >= 1 and all(
            two <= _first(steps)
            for one, two in zip(steps, steps[1:], strict=False)
            if one is not None and two is not None and two <= one
        )
        if epochs:
            named = False
            told.append(
                phrase(
                    "its steps restart {times}, as with epochs: points were counted instead",
                    times=counted(restarts, "time"),
                )
            )
        else:
            points = _rewound(points)
            told.append(
                phrase(
                    "it goes back {times}, like a resumed run: the later values are used",
                    times=counted(restarts, "time"),
                )
            )
    if named:
        return Curve(
            file,
            kind,
            metric,
            tuple(step or 0 for step, _ in points),
            tuple(value for _, value in points),
            notes=tuple(told),
            device=device,
        )
    values = tuple(value for _, value in points)
    return Curve(file, kind, metric, tuple(range(1, len(values) + 1)), values, True, tuple(told), device)


def _first(steps: Sequence[int | None]) -> int:
    return steps[0] or 0


def _rewound(points: Sequence[tuple[int | None, float]]) -> list[tuple[int | None, float]]:
    kept: list[tuple[int | None, float]] = []
    for step, value in points:
        while kept and (kept[-1][0] or 0) >= (step or 0):
            kept.pop()
        kept.append((step, value))
    return kept
