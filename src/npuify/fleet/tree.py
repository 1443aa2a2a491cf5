"""What tells whether a folder has changed, and whether it is too large to look at."""

from __future__ import annotations

import os
import stat
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.project.files import SKIPPED_FOLDERS
from npuify.project.kinds import kind_of

if TYPE_CHECKING:
    from npuify.fleet.model import Limits

_DATA: Final = frozenset(("other", "json", "text", "lock"))
"""Kinds of files that may be data of a program; how large they are says little about a scan."""


class TooLarge(Exception):
    """A tree is beyond the limits; the message says which."""


def fingerprint(folder: str, limits: Limits) -> str:
    """A text that changes with the files below ``folder``: their names, sizes and times of change.

    Links are not followed, and folders that hold no source of a project are passed over, as a scan does. What data a
    folder holds beside the files that a scan may read does not count as its size.

    Raises:
        OSError: ``folder`` itself cannot be read.
        TooLarge: there are more files than ``limits`` allow, or what is read of them is larger.
    """
    seen = size = 0
    lines: list[str] = []
    waiting = [folder]
    while waiting:
        place = waiting.pop()
        try:
            entries = sorted(os.scandir(place), key=lambda one: one.name)
        except OSError:
            if place == folder:
                raise
            # As a scan tells of it; a folder that can be read later is a change.
            lines.append(f"{place}\0?")
            continue
        seen += len(entries)
        if seen > limits.files:
            raise TooLarge(phrase("holds more than {count} files and folders", count=limits.files))
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in SKIPPED_FOLDERS:
                    waiting.append(entry.path)
                continue
            try:
                found = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISREG(found.st_mode):
                lines.append(f"{entry.path}\0{found.st_mtime_ns}\0{found.st_size}")
                size += found.st_size if kind_of(entry.name) not in _DATA else 0
        if size > limits.size:
            raise TooLarge(phrase("has more than {size} to read", size=shown_size(limits.size)))
    return sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def size_of(folder: str, most: int) -> int:
    """Bytes of all files below ``folder``, links not followed; what is beyond ``most`` is not counted on."""
    total = 0
    waiting = [folder]
    while waiting and total <= most:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    total += entry.stat(follow_symlinks=False).st_size
            except OSError:
                continue
    return total


def shown_size(size: int) -> str:
    """A number of bytes for people."""
    value, unit = float(size), "bytes"
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{value:.3g} {unit}"
