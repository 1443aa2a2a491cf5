"""Where a migrated project may be written."""

from __future__ import annotations

import os
from pathlib import Path

from npuify.model import NpuifyError
from npuify.rewrite.tree.paths import failed, real, same_or_inside


def check_destination(source: Path, destination: Path, *, force: bool) -> None:
    """Refuse a destination that a copy of ``source`` must not replace; to be asked before any work is done.

    Raises:
        NpuifyError: ``source`` is not there; one lies inside the other; ``destination`` is a file, or a folder that is
            not empty (unless ``force``), or (even then) a home folder or the root of a drive.
    """
    if not source.exists():
        raise NpuifyError("there is no such file or folder", file=str(source))
    if same_or_inside(destination, source):
        raise NpuifyError(
            "the destination lies inside the source, and would become part of its own input",
            advice="choose a folder beside the source",
            file=str(destination),
        )
    if same_or_inside(source, destination):
        raise NpuifyError(
            "the source lies inside the destination, which would replace it",
            advice="choose a folder beside the source",
            file=str(destination),
        )
    if not os.path.lexists(destination):
        return
    if not destination.is_dir():
        raise NpuifyError("is not a folder", advice="choose another destination", file=str(destination))
    folder = real(destination)
    if _is_home(folder) or folder == folder.parent:
        raise NpuifyError("is a folder that must not be replaced", file=str(destination))
    try:
        empty = not any(folder.iterdir())
    except OSError as error:
        raise failed(error, destination) from error
    if not empty and not force:
        raise NpuifyError(
            "the destination is not empty", advice="choose another, or replace it with --force", file=str(destination)
        )


def _is_home(path: Path) -> bool:
    try:
        return path == real(Path.home())
    except RuntimeError:
        return False
