"""What earlier scans found in files that have not changed since, so that a second scan reads next to nothing.

What is known of a file holds as long as it, and every other file of the project that this depends on, holds the same,
and npuify, Python, the release, the rules and the list of the project's files are the same. A file with the same size
and time of change is not read to see that. Which results still hold, :mod:`npuify.engine.kept.standing` tells.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import time
from typing import TYPE_CHECKING

import msgspec

from npuify.engine.kept.files import TOO_NEW, cache_folder, digest, own_code, write_whole
from npuify.knowledge.hardware.facts import digest as hardware_digest
from npuify.model import FileError, Finding, LedgerEntry, Program  # noqa: TC001 - msgspec reads the annotations
from npuify.project.import_graph import Imports  # noqa: TC001 - msgspec reads the annotations
from npuify.project.traces import Trace
from npuify.rules.packages.extensions.build import Build  # noqa: TC001 - msgspec reads the annotations
from npuify.source.native.file import NativeFile  # noqa: TC001 - msgspec reads the annotations

if TYPE_CHECKING:
    from pathlib import Path

    from npuify.rules.selection import Selection

Stamp = tuple[int, int]
"""Time of change in nanoseconds, and size in bytes."""
State = tuple[int, int]
"""What a file held, as far as can be told: a digest of it and its size, or its stamp where it was not read here."""
UNKNOWN_STAMP: Stamp = (0, -1)
"""In the place of one that proves nothing, since the file was changed shortly before it was read."""


class CachedResult(msgspec.Struct, array_like=True):
    """What the rules found in a file, the other files that this depends on, and its ledger."""

    findings: list[Finding]
    errors: list[FileError]
    dependencies: list[tuple[str, State]]
    ledger: list[LedgerEntry] = []


class CachedExtensions(msgspec.Struct, array_like=True):
    """What a Python file has to do with the project's own extensions."""

    builds: list[Build]
    calls: list[tuple[tuple[str, str], str]] = []
    """Module and name of each operator that it calls, and where."""


class CachedFile(msgspec.Struct, array_like=True):
    """What is known of one file. ``result`` is None where the rules were not asked."""

    stamp: Stamp
    content: int
    """A digest of what it holds; see :func:`npuify.engine.kept.files.content_digest`."""
    concerns: bool
    own_cuda: bool
    mentions: bool = False
    """Whether it names anything that the ledger accounts for."""
    supports_npu: bool = False
    sets_default_type: bool = False
    """Whether it makes a type of CUDA's the default for the whole program."""
    makes_default_type: bool = False
    """Whether it may make tensors of the default type: they concern rules where a file of the project sets it."""
    trace: Trace = Trace()
    imports: Imports | None = None
    """Of a Python file."""
    result: CachedResult | None = None
    native: NativeFile | None = None
    """What a file of C++ or CUDA holds."""
    may_bind: bool | None = None
    """Whether a file of C++ or CUDA can hand anything to Python; None where that was not asked."""
    extensions: CachedExtensions | None = None
    """Of a Python file, where the project has extensions."""


class CachedAnswer(msgspec.Struct, array_like=True, frozen=True):
    """The answer to a question about the project, and the files that it depends on."""

    answer: msgspec.Raw
    dependencies: list[tuple[str, State]]


class CachedPrograms(msgspec.Struct, array_like=True, frozen=True):
    """The programs of a project."""

    key: str = ""
    """Digest of all that they rest on."""
    programs: tuple[Program, ...] = ()


class CacheContents(msgspec.Struct, array_like=True):
    """What one scan leaves for the next."""

    key: str = ""
    """Digest of what the scan asked for, and of npuify itself; of another scan nothing holds."""
    project: str = ""
    """Digest of what any result may depend on: the project's files, and what all of them show."""
    operators: str = ""
    """Digest of the operators whose calls were sought."""
    files: dict[str, CachedFile] = {}
    searches: dict[str, bytes] = {}
    """What was sought in the texts of the Python files, and which of them have it; see
    :meth:`npuify.analysis.texts.index.TextIndex.searches`."""
    answers: dict[str, CachedAnswer] = {}
    """What was asked of the project besides, mostly to follow its programs."""
    programs: CachedPrograms = CachedPrograms()


def stamp(location: str) -> Stamp | None:
    """The stamp of a file, or None where it is not there."""
    try:
        found = os.stat(location)  # noqa: PTH116 - asked once a file
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


class ScanCache:
    """The cache of one project: what the last scan left, as it was when this was made.

    Args:
        root: the project's root.
        selection, torch_npu: what the scan asks for; what other scans left does not hold.
        style: a text for the style of the run, and what it knows of the project; empty for the plain one.
        enabled: False knows nothing and keeps nothing.
    """

    def __init__(self, root: Path, selection: Selection, torch_npu: str, *, enabled: bool, style: str = "") -> None:
        self._location = (
            cache_folder() / f"{hashlib.sha256(str(root).encode()).hexdigest()[:24]}.msgpack" if enabled else None
        )
        chosen = (*selection.select, "-", *selection.ignore, "-", selection.opt_ins.digest(), style)
        self._key = digest([own_code(), hardware_digest(), sys.version, torch_npu, *chosen]) if enabled else ""
        self.started = time.time_ns()
        """When the scan began, in nanoseconds."""
        self._last = _read(self._location, self._key) if self._location is not None else CacheContents()

    @property
    def is_enabled(self) -> bool:
        """Whether anything is kept."""
        return self._location is not None

    @property
    def last(self) -> CacheContents:
        """What the last scan left; without anything where it asked for something else."""
        return self._last

    def file(self, relative: str, now: Stamp | None) -> CachedFile | None:
        """What is known of a file that has this stamp."""
        known = self._last.files.get(relative)
        return known if known is not None and known.stamp == now else None

    def extensions(self, relative: str, now: Stamp | None) -> CachedExtensions | None:
        """The extensions that a Python file with this stamp builds and calls; None where that is not known."""
        known = self.file(relative, now)
        return known.extensions if known is not None else None

    def has_calls_of(self, operators: str) -> bool:
        """Whether the calls that are known are those of these operators, given by their digest."""
        return operators == self._last.operators

    def save(self, contents: CacheContents) -> None:
        """Leave what a scan found for the next; failing to is no error, that one is only slower."""
        if self._location is None:
            return
        contents.key = self._key
        contents.files = {name: self._with_sure_stamp(file) for name, file in contents.files.items()}
        with contextlib.suppress(OSError):
            write_whole(self._location, msgspec.msgpack.encode(contents))

    def _with_sure_stamp(self, file: CachedFile) -> CachedFile:
        if self.started - file.stamp[0] > TOO_NEW:
            return file
        return msgspec.structs.replace(file, stamp=UNKNOWN_STAMP)


def _read(location: Path, key: str) -> CacheContents:
    try:
        contents = msgspec.msgpack.decode(location.read_bytes(), type=CacheContents)
    except (OSError, msgspec.MsgspecError):
        return CacheContents()
    return contents if contents.key == key else CacheContents()
