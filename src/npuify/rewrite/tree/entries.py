"""What a project holds, as far as a copy can hold it, too."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from npuify.language import phrase
from npuify.model import FileError
from npuify.rewrite.tree.paths import failed, real

if TYPE_CHECKING:
    from collections.abc import Iterator


class Entry(NamedTuple):
    """A folder, file or link below a project's root."""

    relative: str
    location: str
    kind: str
    """"folder", "file" or "link"."""
    link: str = ""
    """What the copied link says."""
    skipped: str = ""
    """Why it is not copied."""


def skipped_entries(source: Path) -> tuple[FileError, ...]:
    """What a copy of ``source`` leaves out and a person should know of: links that leave the tree, pipes, sockets.

    Raises:
        NpuifyError: a folder cannot be read.
    """
    try:
        return tuple(
            FileError(entry.relative, entry.skipped, advice="it is not part of the copy")
            for entry in entries(real(source))
            if entry.skipped
        )
    except OSError as error:
        raise failed(error, source) from error


def entries(source: Path) -> Iterator[Entry]:
    """What lies below ``source`` (an absolute path without links), folders before what they hold."""
    if not source.is_dir():
        yield Entry(source.name, str(source), "file")
        return
    stack = [(str(source), "")]
    while stack:
        location, prefix = stack.pop()
        with os.scandir(location) as scan:
            found = sorted(scan, key=lambda entry: entry.name)
        for entry in found:
            relative = prefix + entry.name
            if entry.name == ".git":
                continue
            if entry.is_symlink() or _is_junction(entry):
                link = _link_inside(source, entry.path, relative)
                why = (
                    ""
                    if link is not None
                    else phrase("a link that leaves the project: {readlink}", readlink=Path(entry.path).readlink())
                )
                yield Entry(relative, entry.path, "link", link or "", why)
            elif entry.is_dir(follow_symlinks=False):
                yield Entry(relative, entry.path, "folder")
                stack.append((entry.path, relative + "/"))
            elif entry.is_file(follow_symlinks=False):
                yield Entry(relative, entry.path, "file")
            else:
                yield Entry(relative, entry.path, "other", skipped="not a plain file (a pipe, a socket or a device)")


def _link_inside(source: Path, location: str, relative: str) -> str | None:
    """What a copy of the link has to say to stay inside the copy; None where it leads out of ``source``."""
    text = str(Path(location).readlink())
    target = real(Path(location))
    if target != source and source not in target.parents:
        return None
    depth = relative.count("/")
    if not Path(text).is_absolute():
        for part in text.replace(os.sep, "/").split("/"):
            depth += -1 if part == ".." else 1 if part not in {"", "."} else 0
            if depth < 0:
                break
        else:
            return text
    return os.path.relpath(target, real(Path(location).parent))


def _is_junction(entry: os.DirEntry[str]) -> bool:
    if sys.platform != "win32":
        return False
    return entry.stat(follow_symlinks=False).st_reparse_tag == stat.IO_REPARSE_TAG_MOUNT_POINT
