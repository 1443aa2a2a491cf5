"""What git tracks: a .gitignore file says nothing of it.

Source: git's documentation, gitignore(5) and gitformat-index(5).
"""

from __future__ import annotations

import os
from typing import Final

_FIXED: Final = 62
"""Bytes of an entry of the index before its path, with SHA-1; an extended one has two more."""
_EXTENDED: Final = 0x4000


class Repository:
    """A git repository, as far as its index tells.

    Args:
        top: the folder that holds ``.git``.
        skip: how many characters the caller drops from its paths to make them relative to ``top``.
    """

    __slots__ = ("_files", "_folders", "skip", "top")

    def __init__(self, top: str, skip: int) -> None:
        self.top = top
        self.skip = skip
        self._files: frozenset[str] | None = None
        self._folders: frozenset[str] = frozenset()

    @property
    def is_read(self) -> bool:
        """Whether the index was asked for anything."""
        return self._files is not None

    def tracks(self, path: str) -> bool:
        """Whether git tracks a file, or a file in a folder.

        Args:
            path: relative to the top, with forward slashes; a folder's ends in one.
        """
        if self._files is None:
            self._files = tracked_files(self.top)
            self._folders = frozenset(
                file[: at + 1] for file in self._files for at, letter in enumerate(file) if letter == "/"
            )
        return path in (self._folders if path.endswith("/") else self._files)


def tracked_files(top: str) -> frozenset[str]:
    """The files that the index of a repository lists; none where it has no index, or one that cannot be read.

    Args:
        top: the folder that holds ``.git``, a folder or, in a worktree or submodule, a file that names one.
    """
    try:
        with open(index_of(top), "rb") as stream:  # noqa: PTH123 - part of the walk
            data = stream.read()
    except OSError:
        return frozenset()
    version = int.from_bytes(data[4:8], "big")
    if data[:4] != b"DIRC" or version not in (2, 3, 4):
        return frozenset()
    return frozenset(_paths(data, version))


def index_of(top: str) -> str:
    """Where the index of a repository lies, if it has one; empty where that cannot be told.

    Args:
        top: as :func:`tracked_files` takes it.
    """
    try:
        return os.path.join(_git_folder(top), "index")  # noqa: PTH118
    except OSError:
        return ""


def _git_folder(top: str) -> str:
    git = os.path.join(top, ".git")  # noqa: PTH118
    if os.path.isdir(git):  # noqa: PTH112
        return git
    with open(git, encoding="utf-8", errors="surrogateescape") as stream:  # noqa: PTH123
        named = stream.readline(4096).removeprefix("gitdir:").strip()
    return os.path.join(top, named)  # noqa: PTH118


def _paths(data: bytes, version: int) -> list[str]:
    """The paths of an index, as far as it can be read."""
    found: list[str] = []
    at, path = 12, b""
    for _ in range(int.from_bytes(data[8:12], "big")):
        flags = int.from_bytes(data[at + 60 : at + 62], "big")
        begin = at + _FIXED + (2 if version > 2 and flags & _EXTENDED else 0)
        if version == 4:
            kept, begin = _variable_width(data, begin)
            end = data.find(b"\0", begin)
            path = path[: len(path) - kept] + data[begin:end]
            at = end + 1
        else:
            end = data.find(b"\0", begin)
            path = data[begin:end]
            # Entries are padded with one to eight zero bytes.
            at += (end - at + 8) // 8 * 8
        if end < 0:
            break
        found.append(path.decode("utf-8", "surrogateescape"))
    return found


def _variable_width(data: bytes, at: int) -> tuple[int, int]:
    """A number as git's pack files encode offsets, and where it ends."""
    value = -1
    more = True
    while more and at < len(data):
        byte = data[at]
        at += 1
        value = ((value + 1) << 7) | (byte & 0x7F)
        more = bool(byte & 0x80)
    return max(value, 0), at
