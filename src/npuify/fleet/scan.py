"""A list of projects scanned, each apart, into one store."""

from __future__ import annotations

import contextlib
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from npuify.fleet.model import Task
from npuify.fleet.reports.page import write_page
from npuify.fleet.sources import read_sources
from npuify.fleet.store import Store, page_of
from npuify.fleet.workers.engines import outcomes
from npuify.language import spoken
from npuify.rewrite.tree import replace_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from npuify.fleet.model import Limits, Outcome, Source
    from npuify.fleet.reports.report import Report
    from npuify.fleet.workers.engines import Engine

    Progress = Callable[[int, int], None]

_TOGETHER: Final = 100
"""Unchanged projects that are kept at once; to look at them again costs little."""


def scan(
    place: Path,
    folder: Path,
    said: dict[str, Any],
    limits: Limits,
    engine: Engine,
    *,
    refresh: bool = False,
    progress: Progress | None = None,
) -> Report:
    """Scan the projects of a list that are new or have changed, and write the page that shows all.

    What is done is kept at once: after an interruption, the same call goes on with the rest.

    Args:
        place: the list, as :func:`npuify.fleet.sources.read_sources` takes it.
        folder: for the store, the page, and the projects' own reports.
        said: fields of :class:`npuify.options.Options` that count for all projects.
        limits: what one project may take.
        engine: what examines them.
        refresh: scan all again.
        progress: called with the number of projects done and of all.

    Raises:
        NpuifyError: the list or the folder cannot be used, or the engine is gone.
    """
    from npuify.fleet.reports.report import report_on

    sources = read_sources(place)
    language = spoken()
    with Store(folder, write=True) as store:
        run = store.begin(sources, str(place.absolute()), said, language)
        waiting = store.waiting(run)
        known = {} if refresh else store.known()
        tasks = [Task(one, limits, said, language, known.get(one.key, "")) for one in sources if one.key in waiting]
        done = len(sources) - len(tasks)
        if progress is not None:
            progress(done, len(sources))
        same: list[tuple[Source, Outcome]] = []
        try:
            with contextlib.closing(outcomes(tasks, engine)) as answers:
                for task, outcome in answers:
                    if outcome.unchanged:
                        # Each time that the disk is waited for takes longer than to see that a project is unchanged.
                        same.append((task.source, outcome))
                    else:
                        _keep(store, run, task.source, outcome)
                    if len(same) >= _TOGETHER:
                        store.add_unchanged(run, same)
                        same = []
                    done += 1
                    if progress is not None:
                        progress(done, len(sources))
        finally:
            store.add_unchanged(run, same)
        store.end(run)
        report = report_on(store)
        write_page(folder, report)
        return report


def _keep(store: Store, run: int, source: Source, outcome: Outcome) -> None:
    page = page_of(source) if outcome.findings is not None else ""
    if page:
        # Before the store speaks of it.
        replace_files(store.folder, {page: zlib.decompress(outcome.page)})
    store.add(run, source, outcome, page)
