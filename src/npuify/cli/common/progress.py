"""A progress bar for a person who waits: on the error stream, only on a terminal, and only when it takes a while."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress

PATIENCE = 0.4
"""Seconds before the bar appears."""

INTERVAL = 0.1
"""Seconds between two drawings; drawing takes longer than scanning a small file."""


Show: TypeAlias = "Callable[[int, int], None]"


@contextmanager
def progress(*labels: str) -> Iterator[tuple[Show | None, ...]]:
    """For each phase what to call with the number of files done and of all files; None where nobody would see it."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield (None,) * len(labels)
        return
    due = monotonic() + PATIENCE
    bar: Progress | None = None

    def show(label: str, done: int, total: int) -> None:
        nonlocal bar, due
        now = monotonic()
        if bar is not None and done == total:
            # What is told next stands where the bar was.
            bar.stop()
            bar = None
            return
        if now < due:
            return
        due = now + INTERVAL
        if bar is None:
            bar = _bar()
        bar.update(bar.task_ids[0], description=label, completed=done, total=total or None)
        bar.refresh()

    try:
        yield tuple(partial(show, label) for label in labels)
    finally:
        if bar is not None:
            bar.stop()


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    # No thread of its own: npuify may start processes while the bar stands.
    bar = Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
    bar.add_task("", total=None)
    bar.start()
    return bar
