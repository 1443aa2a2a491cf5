"""A progress bar for a person who waits: on the error stream, only on a terminal, and only when it takes a while."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress

PATIENCE = 0.4
"""Seconds before the bar appears."""

INTERVAL = 0.1
"""Seconds between two drawings; drawing takes longer than scanning a small file."""


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """What to call with the number of files done and of all files; None where nobody would see it."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    due = monotonic() + PATIENCE
    bar: Progress | None = None

    def show(done: int, total: int) -> None:
        nonlocal bar, due
        now = monotonic()
        if now < due:
            return
        due = now + INTERVAL
        if bar is None:
            bar = _bar(label, total)
        bar.update(bar.task_ids[0], completed=done)
        bar.refresh()

    try:
        yield show
    finally:
        if bar is not None:
            bar.stop()


def _bar(label: str, total: int) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    # No thread of its own: npuify may start processes while the bar stands.
    bar = Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
    bar.add_task(label, total=total)
    bar.start()
    return bar
