"""Replace files of a project in place: all of them, or none."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from npuify.language import phrase
from npuify.model import NpuifyError
from npuify.rewrite.tree.paths import failed, file_inside, make_folders, remove_folders, unlink

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def replace_files(root: Path, contents: Mapping[str, bytes]) -> None:
    """Replace files of ``root`` in place: all of them, or (on any failure or interrupt) none.

    Each is written to a temporary file beside it, flushed to the disk and renamed over it; none is renamed before all
    are written. Mode, owner and extended attributes stay. A path that names no file yet is added, with its folders.

    Args:
        root: the folder that paths are relative to, or a single file (then the path is its name).
        contents: new bytes, by path relative to ``root`` with forward slashes.

    Raises:
        NpuifyError: a path leaves ``root`` or names something other than a file, or cannot be read or written.
    """
    folder = root if root.is_dir() else root.parent
    made: list[Path] = []
    prepared: list[_Replacement] = []
    try:
        for relative, data in contents.items():
            path = file_inside(folder, relative)
            old = path.read_bytes() if path.exists() else None
            make_folders(path.parent, made)
            prepared.append(_Replacement(path, old, data, _temporary_beside(path, (data,))))
        for one in prepared:
            _rename_over(one.temporary, one.path)
    except BaseException as error:
        for one in prepared:
            one.undo()
        remove_folders(made)
        if isinstance(error, OSError):
            place = folder / next(iter(contents)) if len(contents) == 1 else folder
            raise failed(error, place, hidden=folder / ".npuify-") from error
        raise


def fill_folder(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files into a folder as :func:`replace_files` does; the folder is made where it is not there.

    Raises:
        NpuifyError: the folder cannot be made, or a file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NpuifyError(
            phrase("cannot be created: {value}", value=error.strerror or error), file=str(folder)
        ) from None
    replace_files(folder, contents)


def replace_file(path: Path, pieces: Iterable[bytes]) -> None:
    """Replace one file, or add it, as :func:`replace_files` does, without holding its content as a whole.

    Args:
        path: the file; its folder is there.
        pieces: its new content, one after the other.

    Raises:
        NpuifyError: it cannot be written, or is something other than a file.
    """
    try:
        target = file_inside(path.parent, path.name)
        _rename_over(_temporary_beside(target, pieces), target)
    except OSError as error:
        raise failed(error, path, hidden=path.parent / ".npuify-") from error


class _Replacement(NamedTuple):
    path: Path
    old: bytes | None
    new: bytes
    temporary: Path

    def undo(self) -> None:
        """Bring the old file back, if it was replaced already, and drop the temporary one."""
        replaced = not self.temporary.exists()
        if not replaced:
            unlink(self.temporary)
        elif self.old is None:
            unlink(self.path)
        else:
            _rename_over(_temporary_beside(self.path, (self.old,)), self.path)


def _temporary_beside(path: Path, pieces: Iterable[bytes]) -> Path:
    """A new file in the folder of ``path`` that holds ``pieces``, on the disk, with the mode and owner of ``path``."""
    handle, name = tempfile.mkstemp(prefix=".npuify-", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.writelines(pieces)
            stream.flush()
            os.fsync(stream.fileno())
        if path.exists():
            now = temporary.stat()
            shutil.copystat(path, temporary)
            os.utime(temporary, ns=(now.st_atime_ns, now.st_mtime_ns))
            if sys.platform != "win32":
                owner = path.stat()
                if (owner.st_uid, owner.st_gid) != (now.st_uid, now.st_gid):
                    with contextlib.suppress(PermissionError):
                        os.chown(temporary, owner.st_uid, owner.st_gid)
                        temporary.chmod(stat.S_IMODE(owner.st_mode))
        else:
            temporary.chmod(0o666 & ~_umask())
    except BaseException:
        unlink(temporary)
        raise
    return temporary


def _rename_over(temporary: Path, path: Path) -> None:
    """As ``os.replace``; Windows needs a read-only file to be made writable before."""
    try:
        temporary.replace(path)
    except PermissionError:
        if sys.platform != "win32" or not path.exists():
            raise
        mode = path.stat().st_mode
        path.chmod(stat.S_IREAD | stat.S_IWRITE)
        temporary.replace(path)
        path.chmod(stat.S_IMODE(mode))


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
