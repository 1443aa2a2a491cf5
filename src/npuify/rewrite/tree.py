"""Writes a migrated project: a whole copy, or files in place; either completely or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from npuify.model import FileError, NpuifyError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_NOTHING_WRITTEN = "nothing was written"


def check_destination(source: Path, destination: Path, *, force: bool) -> None:
    """Refuse a destination that a copy of ``source`` must not replace; to be asked before any work is done.

    Raises:
        NpuifyError: ``source`` is not there; one lies inside the other; ``destination`` is a file, or a folder that is
            not empty (unless ``force``), or (even then) a home folder or the root of a drive.
    """
    if not source.exists():
        raise NpuifyError("there is no such file or folder", file=str(source))
    if _same_or_inside(destination, source):
        raise NpuifyError(
            "the destination lies inside the source, and would become part of its own input",
            advice="choose a folder beside the source",
            file=str(destination),
        )
    if _same_or_inside(source, destination):
        raise NpuifyError(
            "the source lies inside the destination, which would replace it",
            advice="choose a folder beside the source",
            file=str(destination),
        )
    if not os.path.lexists(destination):
        return
    if not destination.is_dir():
        raise NpuifyError("is not a folder", advice="choose another destination", file=str(destination))
    real = _real(destination)
    if _is_home(real) or real == real.parent:
        raise NpuifyError("is a folder that must not be replaced", file=str(destination))
    try:
        empty = not any(real.iterdir())
    except OSError as error:
        raise _failed(error, destination) from error
    if not empty and not force:
        raise NpuifyError(
            "the destination is not empty", advice="choose another, or replace it with --force", file=str(destination)
        )


def skipped_entries(source: Path) -> tuple[FileError, ...]:
    """What a copy of ``source`` leaves out and a person should know of: links that leave the tree, pipes, sockets.

    Raises:
        NpuifyError: a folder cannot be read.
    """
    try:
        return tuple(
            FileError(entry.relative, entry.skipped, advice="it is not part of the copy")
            for entry in _entries(_real(source))
            if entry.skipped
        )
    except OSError as error:
        raise _failed(error, source) from error


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
    target = _real(destination)
    made: list[Path] = []
    holder: Path | None = None
    try:
        _make_folders(target.parent, made)
        # A mount point cannot be renamed, and a parent may be closed to us: then the copy is built inside the target.
        inside = target.is_dir() and (os.path.ismount(target) or not os.access(target.parent, os.W_OK | os.X_OK))
        holder = Path(tempfile.mkdtemp(prefix=f".{target.name[:40]}.npuify-", dir=target if inside else target.parent))
        new, old = holder / "new", holder / "old"
        skipped = _build(_real(source), new, contents, extra)
        old.mkdir()
        _carry_out(_moves_inside(target, new, old, holder) if inside else _moves(target, new, old))
    except BaseException as error:
        if holder is not None:
            _remove(holder / "new")
            for folder in (holder / "old", holder):
                with contextlib.suppress(OSError):
                    folder.rmdir()
        _remove_folders(made)
        if isinstance(error, OSError):
            raise _failed(error, destination, hidden=holder) from error
        raise
    try:
        if source.is_dir():
            with contextlib.suppress(OSError):
                shutil.copystat(source, target)
        _remove(holder)
    except BaseException:
        # The copy stands; what is left to delete, an old tree perhaps, goes even so.
        _remove(holder)
        raise
    if holder.exists():
        left = FileError(holder.name, "the replaced destination could not be deleted", advice="delete it by hand")
        return (*skipped, left)
    return skipped


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
            path = _file_inside(folder, relative)
            old = path.read_bytes() if path.exists() else None
            _make_folders(path.parent, made)
            prepared.append(_Replacement(path, old, data, _temporary_beside(path, data)))
        for one in prepared:
            _rename_over(one.temporary, one.path)
    except BaseException as error:
        for one in prepared:
            one.undo()
        _remove_folders(made)
        if isinstance(error, OSError):
            place = folder / next(iter(contents)) if len(contents) == 1 else folder
            raise _failed(error, place, hidden=folder / ".npuify-") from error
        raise


# --- a copy ----------------------------------------------------------------------------------------------------------


class _Entry(NamedTuple):
    relative: str
    location: str
    kind: str
    """"folder", "file" or "link"."""
    link: str = ""
    """What the copied link says."""
    skipped: str = ""
    """Why it is not copied."""


def _entries(source: Path) -> Iterator[_Entry]:
    """What lies below ``source`` (an absolute path without links), folders before what they hold."""
    if not source.is_dir():
        yield _Entry(source.name, str(source), "file")
        return
    stack = [(str(source), "")]
    while stack:
        location, prefix = stack.pop()
        with os.scandir(location) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
        for entry in entries:
            relative = prefix + entry.name
            if entry.name == ".git":
                continue
            if entry.is_symlink() or _is_junction(entry):
                link = _link_inside(source, entry.path, relative)
                why = "" if link is not None else f"a link that leaves the project: {Path(entry.path).readlink()}"
                yield _Entry(relative, entry.path, "link", link or "", why)
            elif entry.is_dir(follow_symlinks=False):
                yield _Entry(relative, entry.path, "folder")
                stack.append((entry.path, relative + "/"))
            elif entry.is_file(follow_symlinks=False):
                yield _Entry(relative, entry.path, "file")
            else:
                yield _Entry(relative, entry.path, "other", skipped="not a plain file (a pipe, a socket or a device)")


def _link_inside(source: Path, location: str, relative: str) -> str | None:
    """What a copy of the link has to say to stay inside the copy; None where it leads out of ``source``."""
    text = str(Path(location).readlink())
    real = _real(Path(location))
    if real != source and source not in real.parents:
        return None
    depth = relative.count("/")
    if not Path(text).is_absolute():
        for part in text.replace(os.sep, "/").split("/"):
            depth += -1 if part == ".." else 1 if part not in {"", "."} else 0
            if depth < 0:
                break
        else:
            return text
    return os.path.relpath(real, _real(Path(location).parent))


def _build(source: Path, new: Path, contents: Mapping[str, bytes], extra: Mapping[str, bytes]) -> tuple[FileError, ...]:
    new.mkdir()
    skipped = []
    folders: list[tuple[str, Path]] = []
    waiting = dict(contents)
    for entry in _entries(source):
        if entry.skipped:
            skipped.append(FileError(entry.relative, entry.skipped, advice="it is not part of the copy"))
            continue
        path = new / entry.relative
        if entry.kind == "folder":
            path.mkdir()
            folders.append((entry.location, path))
        elif entry.kind == "link":
            try:
                path.symlink_to(entry.link, target_is_directory=Path(entry.location).is_dir())
            except OSError as error:
                if sys.platform != "win32":
                    raise
                why = f"a link that Windows does not let us make: {error.strerror}"
                skipped.append(FileError(entry.relative, why, advice="it is not part of the copy"))
        elif entry.relative in waiting:
            path.write_bytes(waiting.pop(entry.relative))
            shutil.copymode(entry.location, path)
        else:
            shutil.copyfile(entry.location, path)
            shutil.copystat(entry.location, path)
    if waiting:
        raise NpuifyError("is not a file of the project any more", advice=_NOTHING_WRITTEN, file=min(waiting))
    for relative, data in extra.items():
        path = _file_inside(new, relative)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            path.unlink()
        path.write_bytes(data)
    for location, path in reversed(folders):
        shutil.copystat(location, path)
    return tuple(skipped)


def _moves(target: Path, new: Path, old: Path) -> list[tuple[Path, Path]]:
    moves = []
    if target.exists():
        moves.append((target, old / "tree"))
        if os.path.lexists(target / ".git"):
            moves.append((old / "tree" / ".git", new / ".git"))
    return [*moves, (new, target)]


def _moves_inside(target: Path, new: Path, old: Path, holder: Path) -> list[tuple[Path, Path]]:
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


# --- files in place --------------------------------------------------------------------------------------------------


class _Replacement(NamedTuple):
    path: Path
    old: bytes | None
    new: bytes
    temporary: Path

    def undo(self) -> None:
        """Bring the old file back, if it was replaced already, and drop the temporary one."""
        replaced = not self.temporary.exists()
        if not replaced:
            _unlink(self.temporary)
        elif self.old is None:
            _unlink(self.path)
        else:
            _rename_over(_temporary_beside(self.path, self.old), self.path)


def _file_inside(folder: Path, relative: str) -> Path:
    """The path of ``relative``, once it is sure that it is a plain file (or nothing yet) inside ``folder``."""
    pure = PurePosixPath(relative)
    path = folder.joinpath(*pure.parts)
    root = _real(folder)
    parent = _real(path.parent)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or (parent != root and root not in parent.parents):
        raise NpuifyError("does not lie inside the project", advice=_NOTHING_WRITTEN, file=relative)
    if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
        raise NpuifyError("is not a plain file", advice=_NOTHING_WRITTEN, file=relative)
    return path


def _temporary_beside(path: Path, data: bytes) -> Path:
    """A new file in the folder of ``path`` that holds ``data``, on the disk, with the mode and owner of ``path``."""
    handle, name = tempfile.mkstemp(prefix=".npuify-", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
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
        _unlink(temporary)
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


# --- folders ---------------------------------------------------------------------------------------------------------


def _make_folders(folder: Path, made: list[Path]) -> None:
    """Make ``folder`` and what is missing above it; each that was made is added to ``made``, the outer ones first."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for one in reversed(missing):
        one.mkdir()
        made.append(one)


def _remove_folders(made: list[Path]) -> None:
    for folder in reversed(made):
        with contextlib.suppress(OSError):
            folder.rmdir()


def _remove(tree: Path) -> None:
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


def _unlink(path: Path) -> None:
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            path.chmod(stat.S_IWRITE)
        path.unlink()


def _real(path: Path) -> Path:
    """As ``path.resolve()``, which raises on links that lead in a circle."""
    return Path(os.path.realpath(path))


def _same_or_inside(path: Path, folder: Path) -> bool:
    """Whether ``path`` is ``folder`` or lies below it, also where the file system does not tell case apart."""
    real = _real(path)
    for one in (real, *real.parents):
        with contextlib.suppress(OSError):
            if one.samefile(folder):
                return True
    return False


def _is_home(path: Path) -> bool:
    try:
        return path == _real(Path.home())
    except RuntimeError:
        return False


def _is_junction(entry: os.DirEntry[str]) -> bool:
    if sys.platform != "win32":
        return False
    return entry.stat(follow_symlinks=False).st_reparse_tag == stat.IO_REPARSE_TAG_MOUNT_POINT


_NO_ROOM = frozenset(getattr(errno, name, -1) for name in ("ENOSPC", "EDQUOT", "EFBIG"))


def _failed(error: OSError, place: Path, *, hidden: Path | None = None) -> NpuifyError:
    """What to tell a person; a path inside ``hidden`` (our own temporary folder) is told as ``place``."""
    named = str(error.filename) if error.filename is not None else ""
    if error.errno in _NO_ROOM:
        # A copy that fails on writing names the file that it reads from.
        named = ""
    if not named or (hidden is not None and named.startswith(str(hidden))):
        named = str(place)
    return NpuifyError(error.strerror or str(error), advice=_NOTHING_WRITTEN, file=named)
