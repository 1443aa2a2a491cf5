"""Files and folders: where they really are, and making and removing them in a way that can be undone."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
from pathlib import Path, PurePosixPath
from typing import Any

from npuify.model import NpuifyError

NOTHING_WRITTEN = "nothing was written"
_NO_ROOM = frozenset(getattr(errno, name, -1) for name in ("ENOSPC", "EDQUOT", "EFBIG"))


def failed(error: OSError, place: Path, *, hidden: Path | None = None) -> NpuifyError:
    """What to tell a person; a path inside ``hidden`` (our own temporary folder) is told as ``place``."""
    named = str(error.filename) if error.filename is not None else ""
    if error.errno in _NO_ROOM:
        # A copy that fails on writing names the file that it reads from.
        named = ""
    if not named or (hidden is not None and named.startswith(str(hidden))):
        named = str(place)
    return NpuifyError(error.strerror or str(error), advice=NOTHING_WRITTEN, file=named)


def real(path: Path) -> Path:
    """As ``path.resolve()``, which raises on links that lead in a circle."""
    return Path(os.path.realpath(path))


def same_or_inside(path: Path, folder: Path) -> bool:
    """Whether ``path`` is ``folder`` or lies below it, also where the file system does not tell case apart."""
    place = real(path)
    for one in (place, *place.parents):
        with contextlib.suppress(OSError):
            if one.samefile(folder):
                return True
    return False


def file_inside(folder: Path, relative: str) -> Path:
    """The path of ``relative``, once it is sure that it is a plain file (or nothing yet) inside ``folder``."""
    pure = PurePosixPath(relative)
    path = folder.joinpath(*pure.parts)
    root = real(folder)
    parent = real(path.parent)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or (parent != root and root not in parent.parents):
        raise NpuifyError("does not lie inside the project", advice=NOTHING_WRITTEN, file=relative)
    if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
        raise NpuifyError("is not a plain file", advice=NOTHING_WRITTEN, file=relative)
    return path


def make_folders(folder: Path, made: list[Path]) -> None:
    """Make ``folder`` and what is missing above it; each that was made is added to ``made``, the outer ones first."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for one in reversed(missing):
        one.mkdir()
        made.append(one)


def remove_folders(made: list[Path]) -> None:
    """Remove folders that were made, the inner ones first; one that holds something stays."""
    for folder in reversed(made):
        with contextlib.suppress(OSError):
            folder.rmdir()


def remove_tree(tree: Path) -> None:
    """Delete a folder with all that it holds, read-only or not; what cannot be deleted stays."""

    def make_writable_and_retry(function: Any, path: str, _error: object) -> None:
        with contextlib.suppress(OSError):
            stuck = Path(path)
            stuck.parent.chmod(stat.S_IRWXU)
            if not stuck.is_symlink():
                stuck.chmod(stat.S_IRWXU)
            if function in {os.unlink, os.remove, os.rmdir}:
                function(path)
            else:
                shutil.rmtree(path, ignore_errors=True)

    if sys.version_info >= (3, 12):
        shutil.rmtree(tree, onexc=make_writable_and_retry)
    else:
        shutil.rmtree(tree, onerror=make_writable_and_retry)


def unlink(path: Path) -> None:
    """Delete a file, read-only or not; one that cannot be deleted stays."""
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            path.chmod(stat.S_IWRITE)
        path.unlink()
