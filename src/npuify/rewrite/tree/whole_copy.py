"""Copy a project, with some files rewritten and some added; the copy is there completely or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import FileError, NpuifyError
from npuify.rewrite.tree.destination import check_destination
from npuify.rewrite.tree.entries import entries
from npuify.rewrite.tree.paths import (
    NOTHING_WRITTEN,
    failed,
    file_inside,
    make_folders,
    real,
    remove_folders,
    remove_tree,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from npuify.rewrite.tree.entries import Entry


def write_tree(
    source: Path,
    destination: Path,
    contents: Mapping[str, bytes],
    extra: Mapping[str, bytes],
    *,
    force: bool,
) -> tuple[FileError, ...]:
    """Copy the project ``source`` to ``destination``, with some files rewritten and some added.

    The copy is built beside ``destination`` and renamed at the end, so that a failure, a full disk or Ctrl-C leaves no
    half-written destination; with ``force`` the old one stands until the new one is complete. Modes and times are kept.
    Links that stay inside the tree are made anew, those that leave it are left out. ``.git`` is never copied; one that
    the destination already has is kept.

    Args:
        source: a folder, or a single file.
        destination: a folder that does not exist or is empty, or (with ``force``) may be replaced.
        contents: new bytes of files of ``source``, by path relative to it with forward slashes.
        extra: files to add (or to put in place of those of the source), by path relative to the destination.
        force: replace a destination that is not empty.

    Returns:
        What was left out, and why.

    Raises:
        NpuifyError: the destination is refused (see ``check_destination``), or something cannot be read or written.
    """
    check_destination(source, destination, force=force)
    target = real(destination)
    holder, skipped = _in_place(source, destination, target, contents, extra)
    try:
        if source.is_dir():
            with contextlib.suppress(OSError):
                shutil.copystat(source, target)
        remove_tree(holder)
    except BaseException:
        # The copy stands; what is left to delete, an old tree perhaps, goes even so.
        remove_tree(holder)
        raise
    if holder.exists():
        left = FileError(holder.name, "the replaced destination could not be deleted", advice="delete it by hand")
        return (*skipped, left)
    return skipped


def _in_place(
    source: Path, destination: Path, target: Path, contents: Mapping[str, bytes], extra: Mapping[str, bytes]
) -> tuple[Path, tuple[FileError, ...]]:
    """Build the copy, and move it to where it belongs; on any failure or interrupt all is as it was.

    Returns:
        The folder in which it was built, that now holds what was replaced; and what was left out.
    """
    made: list[Path] = []
    holder: Path | None = None
    try:
        make_folders(target.parent, made)
        # A mount point cannot be renamed, and a parent may be closed to us: then the copy is built inside the target.
        inside = target.is_dir() and (os.path.ismount(target) or not os.access(target.parent, os.W_OK | os.X_OK))
        holder = Path(tempfile.mkdtemp(prefix=f".{target.name[:40]}.npuify-", dir=target if inside else target.parent))
        new, old = holder / "new", holder / "old"
        skipped = _build(real(source), new, contents, extra)
        old.mkdir()
        _carry_out(_moves_inside(target, new, old, holder) if inside else _moves(target, new, old))
    except BaseException as error:
        if holder is not None:
            remove_tree(holder / "new")
            for folder in (holder / "old", holder):
                with contextlib.suppress(OSError):
                    folder.rmdir()
        remove_folders(made)
        if isinstance(error, OSError):
            raise failed(error, destination, hidden=holder) from error
        raise
    return holder, skipped


# --- building ---


def _build(source: Path, new: Path, contents: Mapping[str, bytes], extra: Mapping[str, bytes]) -> tuple[FileError, ...]:
    """Make the copy in the folder ``new``; see :func:`write_tree`."""
    new.mkdir()
    skipped: list[FileError] = []
    folders: list[tuple[str, Path]] = []
    found = set()
    for entry in entries(source):
        path = new / entry.relative
        if entry.skipped:
            skipped.append(_left_out(entry, entry.skipped))
        elif entry.kind == "folder":
            path.mkdir()
            folders.append((entry.location, path))
        elif entry.kind == "link":
            skipped += _link(entry, path)
        else:
            found.add(entry.relative)
            _copy(entry, path, contents.get(entry.relative))
    missing = contents.keys() - found
    if missing:
        raise NpuifyError("is not a file of the project any more", advice=NOTHING_WRITTEN, file=min(missing))
    for relative, data in extra.items():
        _add(file_inside(new, relative), data)
    for location, path in reversed(folders):
        shutil.copystat(location, path)
    return tuple(skipped)


def _left_out(entry: Entry, why: str) -> FileError:
    return FileError(entry.relative, why, advice="it is not part of the copy")


def _link(entry: Entry, path: Path) -> list[FileError]:
    """Make a link anew; where that is not allowed, say so."""
    try:
        path.symlink_to(entry.link, target_is_directory=Path(entry.location).is_dir())
    except OSError as error:
        if sys.platform != "win32":
            raise
        return [
            _left_out(entry, phrase("a link that Windows does not let us make: {strerror}", strerror=error.strerror))
        ]
    return []


def _copy(entry: Entry, path: Path, data: bytes | None) -> None:
    """Copy a file with its mode and times; with new ``data`` it has only its mode."""
    if data is not None:
        path.write_bytes(data)
        shutil.copymode(entry.location, path)
    else:
        shutil.copyfile(entry.location, path)
        shutil.copystat(entry.location, path)


def _add(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        path.unlink()
    path.write_bytes(data)


# --- moving ---


def _moves(target: Path, new: Path, old: Path) -> list[tuple[Path, Path]]:
    """The renames that put the folder ``new`` in place of ``target``, which keeps its ``.git``."""
    moves = []
    if target.exists():
        moves.append((target, old / "tree"))
        if os.path.lexists(target / ".git"):
            moves.append((old / "tree" / ".git", new / ".git"))
    return [*moves, (new, target)]


def _moves_inside(target: Path, new: Path, old: Path, holder: Path) -> list[tuple[Path, Path]]:
    """The same for a target that cannot be renamed itself: what is in it goes, what is in ``new`` comes."""
    keep = {holder.name, ".git"}
    return [
        *((path, old / path.name) for path in sorted(target.iterdir()) if path.name not in keep),
        *((path, target / path.name) for path in sorted(new.iterdir())),
    ]


def _carry_out(moves: list[tuple[Path, Path]]) -> None:
    """Do all renames; on any failure or interrupt undo those that were done."""
    try:
        for before, after in moves:
            before.rename(after)
    except BaseException:
        for before, after in reversed(moves):
            if os.path.lexists(after) and not os.path.lexists(before):
                after.rename(before)
        raise
