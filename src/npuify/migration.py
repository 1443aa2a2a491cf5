"""Migrate a project: plan it, and write the copy with its report, or change it in place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from npuify.engine.alone import ENGINE
from npuify.language import commas, phrase, speaking
from npuify.model import NpuifyError
from npuify.project.files import IGNORED_BY_GIT, ignored_files
from npuify.report import report_files
from npuify.rewrite.plan import plan
from npuify.rewrite.tree import check_destination, replace_files, skipped_entries, write_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from npuify.model import MigrationResult
    from npuify.options import Options

    Progress = Callable[[int, int], None]

MODES = ("copy", "diff", "check", "in-place")


def migrate(
    source: Path,
    destination: Path | None,
    options: Options,
    *,
    mode: str = "copy",
    force: bool = False,
    progress: Progress | None = None,
    preparing: Progress | None = None,
) -> MigrationResult:
    """Migrate ``source``, a project's folder or one file.

    Args:
        source: what to migrate. It is changed with ``mode="in-place"`` only.
        destination: the folder to write the migrated copy and ``npuify-report/`` into, for ``mode="copy"``.
        options: see :class:`npuify.options.Options`.
        mode: ``copy``, ``diff`` and ``check`` (nothing is written), or ``in-place``.
        force: replace a destination that is not empty.
        progress: called with the number of files done and of files to do.
        preparing: the same while files are read, before any is migrated; 0 of 0 while they are sought.

    Raises:
        NpuifyError: wrong use, or the output cannot be written; nothing is left half-written.
    """
    with speaking(options.language):
        return _migrate(source, destination, options, mode, (progress, preparing), force=force)


def _migrate(
    source: Path,
    destination: Path | None,
    options: Options,
    mode: str,
    tell: tuple[Progress | None, Progress | None],
    *,
    force: bool,
) -> MigrationResult:
    if mode not in MODES:
        raise NpuifyError(
            phrase("the mode {mode!r} does not exist", mode=mode), advice=phrase("one of {MODES}", MODES=commas(MODES))
        )
    if mode == "copy":
        if destination is None:
            raise NpuifyError(
                "no destination is given", advice="name one with -o, or use --diff, --check or --in-place"
            )
        check_destination(source, destination, force=force)
    with ENGINE:
        result, contents = plan(source, options, *tell)
    return written(source, destination, result, contents, mode=mode, force=force)


def written(
    source: Path,
    destination: Path | None,
    result: MigrationResult,
    contents: Mapping[str, bytes],
    *,
    mode: str,
    force: bool = False,
) -> MigrationResult:
    """Write a migration that is worked out, as :func:`migrate` does.

    Args:
        contents: the new content of each file that changes, by relative path.

    Raises:
        NpuifyError: the output cannot be written; nothing is left half-written.
    """
    if mode == "in-place":
        replace_files(Path(result.scan.root), contents)
        result = msgspec.structs.replace(result, destination=result.scan.root)
    elif mode == "copy":
        assert destination is not None
        left_out = skipped_entries(source) if source.is_dir() else ()
        scan = msgspec.structs.replace(result.scan, errors=(*result.scan.errors, *left_out))
        result = msgspec.structs.replace(result, scan=scan, destination=str(destination))
        root = Path(result.scan.root)
        changed = {name: data for name, data in contents.items() if (root / name).exists()}
        added = {name: data for name, data in contents.items() if name not in changed}
        extra = {**added, **report_files(result)}
        if source.is_dir() and (ignored := ignored_files(source)):
            extra[IGNORED_BY_GIT] = ignored.encode("utf-8", "surrogateescape")
        write_tree(source, destination, changed, extra, force=force)
    return result
