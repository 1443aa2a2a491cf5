"""A patch, or a branch in a clone, for each project of a list. Nothing is pushed, and no checkout changes unasked."""

from __future__ import annotations

import contextlib
import re
import shutil
import zlib
from typing import TYPE_CHECKING, Any

import msgspec

from npuify.fleet.model import Task, Work
from npuify.fleet.sources import read_sources
from npuify.fleet.store import Store, file_stem
from npuify.fleet.workers.engines import outcomes
from npuify.language import phrase, plural, spoken
from npuify.model import NpuifyError
from npuify.rewrite.tree import replace_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from npuify.fleet.model import Limits, Outcome, Source
    from npuify.fleet.workers.engines import Engine

_BRANCH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/-]*")


class Row(msgspec.Struct, frozen=True):
    """What became of one project.

    Attributes:
        name: of the project.
        place: the patch, or the clone with the branch, relative to the folder; empty where nothing changes.
        changed_files, changes, left: counts; zero where it was not migrated.
        message, advice: why it was not, and what to do; empty where it was.
        kept: it had been migrated, and has not changed.
    """

    name: str
    place: str = ""
    changed_files: int = 0
    changes: int = 0
    left: int = 0
    message: str = ""
    advice: str = ""
    kept: bool = False


def migrate(
    place: Path,
    folder: Path,
    said: dict[str, Any],
    limits: Limits,
    engine: Engine,
    *,
    branch: str = "",
    into_checkouts: bool = False,
    refresh: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> list[Row]:
    """Migrate the projects of a list.

    Args:
        place, folder, said, limits, engine, refresh, progress: as :func:`npuify.fleet.scan.scan` takes them.
        branch: the name of a branch, which is written in a clone below the folder; empty writes patches.
        into_checkouts: also put the branch into the user's own repositories, without checking it out.

    Raises:
        NpuifyError: the list, the folder or the branch cannot be used, or the engine is gone.
    """
    if into_checkouts and not branch:
        raise NpuifyError("--into-checkouts needs --branch NAME")
    if branch and (not _BRANCH.fullmatch(branch) or ".." in branch or branch.endswith(("/", ".", ".lock"))):
        raise NpuifyError(phrase("{branch} is no name for a branch", branch=branch))
    if branch and engine.address:
        raise NpuifyError(
            "branches are written on this machine alone", advice="leave out --engine dask, or write patches"
        )
    sources = read_sources(place)
    way = f"branch {branch}" if branch else "patch"
    rows: dict[str, Row] = {}
    with Store(folder, write=True) as store:
        known = {} if refresh else store.migrations(way)
        tasks = []
        for one in sources:
            at = _place(one, branch)
            if branch and one.key in known:
                rows[one.key] = Row(one.name, at, kept=True)
                continue
            if branch:
                _make_room(folder / at)
            work = Work.BRANCH if branch else Work.PATCH
            keep = str((folder / at).absolute()) if branch else ""
            tasks.append(
                Task(
                    one,
                    limits,
                    said,
                    spoken(),
                    known.get(one.key, ""),
                    work,
                    branch=branch,
                    keep=keep,
                    folder_too=into_checkouts,
                )
            )
        done = len(rows)
        with contextlib.closing(outcomes(tasks, engine)) as answers:
            for task, outcome in answers:
                rows[task.source.key] = _kept(store, task.source, outcome, way, _place(task.source, branch))
                done += 1
                if progress is not None:
                    progress(done, len(sources))
    return [rows[one.key] for one in sources]


def _place(source: Source, branch: str) -> str:
    return f"branches/{file_stem(source)}" if branch else f"patches/{file_stem(source)}.patch"


def _make_room(place: Path) -> None:
    """Remove a clone of an earlier time, or what is left of one."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)


def _kept(store: Store, source: Source, outcome: Outcome, way: str, place: str) -> Row:
    if outcome.unchanged:
        return Row(source.name, place if (store.folder / place).exists() else "", kept=True)
    done, fault = outcome.migrated, outcome.fault
    if done is None:
        assert fault is not None
        store.add_migration(source, outcome, way, "")
        if way != "patch":
            _make_room(store.folder / place)
        return Row(source.name, message=fault.message, advice=fault.advice)
    if way == "patch":
        if outcome.page:
            replace_files(store.folder, {place: zlib.decompress(outcome.page)})
        else:
            (store.folder / place).unlink(missing_ok=True)
            place = ""
    store.add_migration(source, outcome, way, place)
    return Row(source.name, place, done.changed_files, done.changes, done.left)


def render_text(rows: Iterable[Row]) -> str:
    """One line for each project."""
    return "".join(f"{line}\n" for row in rows for line in _lines(row))


def _lines(row: Row) -> list[str]:
    if row.message:
        said = phrase("{name}: not migrated: {message}", name=row.name, message=row.message)
        return [said, f"    {row.advice}"] if row.advice else [said]
    if row.kept:
        return [phrase("{name}: unchanged, {place}", name=row.name, place=row.place or phrase("nothing to change"))]
    if not row.changed_files:
        return [phrase("{name}: nothing to change", name=row.name)]
    return [
        phrase(
            "{name}: {changes} in {files}, {left} left; {place}",
            name=row.name,
            changes=plural("{count} change", "{count} changes", row.changes),
            files=plural("{count} file", "{count} files", row.changed_files),
            left=row.left,
            place=row.place,
        )
    ]
