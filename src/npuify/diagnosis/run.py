"""The public entrance: read logs, judge, and link what was found to a project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import NpuifyError

from .collect import Collector
from .judge import judge
from .reading import find_logs, pieces, rank_of_path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from .model import Diagnosis


def diagnose(
    logs: Sequence[Path],
    *,
    project: Path | None = None,
    watch: Callable[[Diagnosis], None] | None = None,
) -> Diagnosis:
    """Say why a run failed, from its logs, and what to do.

    Args:
        logs: files, ``.gz`` among them, and folders; ``-`` is the standard input. One file may hold all ranks.
        project: its findings that belong to the failure are named too.
        watch: called with the diagnosis so far whenever it changes while the logs are read.

    Raises:
        NpuifyError: a log or the project is not there or cannot be read.
    """
    if project is not None and not project.exists():
        raise NpuifyError("does not exist", file=str(project))
    collector = Collector()
    last: tuple[str, str] | None = None
    notes = []
    for path in find_logs(list(logs)):
        collector.start_file(phrase("standard input") if str(path) == "-" else str(path), *rank_of_path(path))
        try:
            for piece in pieces(path):
                collector.feed(piece)
                if watch is not None and collector.changed:
                    collector.changed = False
                    so_far = judge(collector)
                    state = (so_far.cause, so_far.first.rank if so_far.first is not None else "")
                    if state != last and so_far.cause:
                        last = state
                        watch(so_far)
        except KeyboardInterrupt:
            if watch is None:
                raise
            break
        except NpuifyError as error:
            if "damaged" not in error.message:
                raise
            notes.append(
                phrase("{file}: {message}; everything before that was read", file=error.file, message=error.message)
            )
    collector.end_file()
    found = judge(collector)
    if notes:
        import msgspec

        found = msgspec.structs.replace(found, notes=(*found.notes, *notes))
    if project is not None:
        from .project import link

        found = link(found, project)
    return found
