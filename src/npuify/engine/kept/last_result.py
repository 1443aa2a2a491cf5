"""The result of a project's last scan, where nothing that it rests on has changed since.

It rests on what was asked for, on npuify and Python, and on the project: the files that were looked at, the folders
that they were found in, and the files that say what git ignores. All of these are asked for their stamps, and nothing
else is read, so that a scan of a project that has not changed costs little more than its report.
"""
# Path objects would take most of the time.
# ruff: noqa: PTH100, PTH109, PTH116, PTH208

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import time
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.engine.kept.files import TOO_NEW, cache_folder, digest, own_code, write_whole
from npuify.knowledge.hardware.facts import digest as hardware_digest
from npuify.language import spoken
from npuify.model import NpuifyError, ScanResult
from npuify.project.files import SKIPPED_FOLDERS, common_root

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from npuify.options import Options

_FOLDER: Final = -1
"""Stands for the size of a folder."""

State = tuple[int, int, int]
"""Time of change in nanoseconds, size in bytes, and mode, which tells what may be started."""


class _Seen(msgspec.Struct, array_like=True, frozen=True):
    """A file or folder, as it was."""

    location: str
    state: State | None
    """None where it was not there."""
    names: str = ""
    """Of a folder: a digest of the names in it."""


class _Kept(msgspec.Struct, array_like=True, frozen=True):
    """What is left of a scan. The result is decoded only where it still holds."""

    key: str
    seen: list[_Seen]
    result: msgspec.Raw


def last_result(paths: Sequence[Path], options: Options) -> ScanResult | None:
    """The result of the last scan of ``paths``, where that still holds; None where there is no such result.

    Args:
        paths, options: as :func:`npuify.engine.scan.scan` takes them.
    """
    location = _location(paths, options)
    if location is None:
        return None
    try:
        with open(location, "rb") as stream:  # noqa: PTH123
            kept = msgspec.msgpack.decode(stream.read(), type=_Kept)
        if kept.key != _key(options) or not all(map(_is_unchanged, kept.seen)):
            return None
        return msgspec.msgpack.decode(kept.result, type=ScanResult)
    except (OSError, msgspec.MsgspecError):
        return None


class ToKeep:
    """What a scan leaves. Made before anything of the project is read.

    Args:
        paths, options: those of the scan.
    """

    def __init__(self, paths: Sequence[Path], options: Options) -> None:
        self._location = _location(paths, options)
        self._key = _key(options) if self._location is not None else ""
        self._paths = paths
        self._started = time.time_ns()

    def keep(self, result: ScanResult, locations: Iterable[str]) -> None:
        """Keep a result; failing to is no error.

        Args:
            result: of the scan.
            locations: of all files and folders that it rests on; without any, nothing is kept.
        """
        locations = list(locations)
        if self._location is None or not locations:
            return
        seen = [_seen(one) for one in dict.fromkeys([*map(str, self._paths), *_beside(self._paths), *locations])]
        if any(one.state is not None and self._started - one.state[0] <= TOO_NEW for one in seen):
            return
        kept = _Kept(self._key, seen, msgspec.Raw(msgspec.msgpack.encode(result)))
        with contextlib.suppress(OSError):
            write_whole(self._location, msgspec.msgpack.encode(kept))


def _location(paths: Sequence[Path], options: Options) -> Path | None:
    """Where the result is kept; None where none is: of what lies outside the project, nothing is asked here."""
    if not options.cache or options.third_party or options.rules or options.from_trace or not paths:
        return None
    try:
        common_root(paths)
    except NpuifyError:
        return None
    named = "\0".join(os.path.abspath(path) for path in paths)
    name = hashlib.sha256(named.encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return cache_folder() / f"{name}.result.msgpack"


def _key(options: Options) -> str:
    """What was asked for, and of what. A result also says where the project lies, as it was named."""
    asked = msgspec.structs.replace(options, jobs=0, cache=True, vendor_reports=None)
    said = msgspec.json.encode(asked).decode()
    return digest([own_code(), hardware_digest(), sys.version, os.getcwd(), spoken(), said])


def _beside(paths: Sequence[Path]) -> list[str]:
    """The files that lie right in the root: some are read for what the project requires, whoever ignores them."""
    root = str(common_root(paths))
    try:
        with os.scandir(root) as entries:
            return [root, *(entry.path for entry in entries if entry.is_file())]
    except OSError:
        return [root]


def _seen(location: str) -> _Seen:
    state = _state(location)
    return _Seen(location, state, _names(location) if state is not None and state[1] == _FOLDER else "")


def _is_unchanged(seen: _Seen) -> bool:
    now = _state(seen.location)
    if now == seen.state:
        return True
    # A file that is replaced as a whole changes its folder, too.
    both = now is not None and seen.state is not None and now[1] == seen.state[1] == _FOLDER
    return both and _names(seen.location) == seen.names


def _state(location: str) -> State | None:
    try:
        found = os.stat(location)
    except OSError:
        return None
    is_folder = found.st_mode & 0o170000 == 0o040000
    return found.st_mtime_ns, _FOLDER if is_folder else found.st_size, found.st_mode


def _names(folder: str) -> str:
    try:
        names = sorted(set(os.listdir(folder)) - SKIPPED_FOLDERS)
    except OSError:
        return ""
    return digest(names)[:16]
