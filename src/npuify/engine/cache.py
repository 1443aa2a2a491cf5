"""What earlier scans found in files that have not changed since, so that a second scan reads next to nothing.

An entry holds as long as the file, and every other file of the project that was looked at for it, has the same size and
time of change, and npuify, Python, the release, the rules and the list of the project's files are the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from npuify import version
from npuify.model import FileError, Finding  # noqa: TC001 - msgspec reads the annotations
from npuify.project.traces import Trace
from npuify.rules.packages.extensions.build import Build  # noqa: TC001 - msgspec reads the annotations
from npuify.source.native_file import NativeFile  # noqa: TC001 - msgspec reads the annotations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from npuify.rules.selection import Selection

_TOO_NEW = 2_000_000_000
"""Nanoseconds. A file changed so shortly ago may change again without its time showing it."""

Stamp = tuple[int, int]
"""Time of change in nanoseconds, and size in bytes."""


class Outcome(msgspec.Struct, array_like=True):
    """What the rules found in a file, and the other files that they looked at."""

    findings: list[Finding]
    errors: list[FileError]
    depends: list[tuple[str, Stamp]]


class Extensions(msgspec.Struct, array_like=True):
    """What a Python file has to do with the project's own extensions."""

    builds: list[Build]
    calls: list[tuple[tuple[str, str], str]] = []
    """Module and name of each operator that it calls, and where."""


class Entry(msgspec.Struct, array_like=True):
    """What is known of one file. ``outcome`` is None where the rules were not asked."""

    stamp: Stamp
    concerns: bool
    own_cuda: bool
    supports_npu: bool = False
    trace: Trace = Trace()
    outcome: Outcome | None = None
    native: NativeFile | None = None
    """What a file of C++ or CUDA holds."""
    may_bind: bool | None = None
    """Whether a file of C++ or CUDA can hand anything to Python; None where that was not asked."""
    extensions: Extensions | None = None
    """Of a Python file, where the project has extensions."""


class _Stored(msgspec.Struct, array_like=True):
    rules: str
    context: str
    sought: str
    """Digest of the operators whose calls were sought."""
    files: dict[str, Entry]


def stamp(location: str) -> Stamp | None:
    """The stamp of a file, or None where it is not there."""
    try:
        found = os.stat(location)  # noqa: PTH116 - asked once a file
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


class ScanCache:
    """The cache of one project.

    Args:
        root: the project's root.
        selection, torch_npu: what the scan asks for; entries of other scans do not hold.
        style: a text for the style of the run, and what it knows of the project; empty for the plain one.
        enabled: False remembers nothing and forgets nothing.
    """

    def __init__(self, root: Path, selection: Selection, torch_npu: str, *, enabled: bool, style: str = "") -> None:
        self._file = _folder() / f"{hashlib.sha256(str(root).encode()).hexdigest()[:24]}.msgpack" if enabled else None
        chosen = (*selection.select, "-", *selection.ignore, "-", selection.wishes.digest(), style)
        self._rules = _digest([_own_code(), sys.version, torch_npu, *chosen]) if enabled else ""
        self._context = ""
        self._sought = ""
        self._known = self._read()
        self._new: dict[str, Entry] = {}
        self._extensions: dict[str, Extensions] = {}
        self._started = time.time_ns()

    def _read(self) -> dict[str, Entry]:
        if self._file is None:
            return {}
        try:
            stored = msgspec.msgpack.decode(self._file.read_bytes(), type=_Stored)
        except (OSError, msgspec.MsgspecError):
            return {}
        if stored.rules != self._rules:
            return {}
        self._context, self._sought = stored.context, stored.sought
        return stored.files

    def entry(self, relative: str, now: Stamp | None) -> Entry | None:
        """What is known of a file that has this stamp."""
        known = self._known.get(relative)
        return known if known is not None and known.stamp == now else None

    def remember(self, relative: str, entry: Entry) -> None:
        """Keep an entry for the next scan."""
        if self._started - entry.stamp[0] > _TOO_NEW:
            self._new[relative] = entry

    def builds(self, relative: str, now: Stamp | None) -> list[Build] | None:
        """The extensions that a Python file with this stamp builds; None where that is not known."""
        known = self.entry(relative, now)
        if known is None or known.extensions is None:
            return None
        self._extensions[relative] = known.extensions
        return known.extensions.builds

    def learn_builds(self, relative: str, builds: list[Build]) -> None:
        """Keep which extensions a Python file builds."""
        self._extensions[relative] = Extensions(builds)

    def seek(self, sought: Iterable[str]) -> bool:
        """Say whose calls are sought; whether those that :meth:`calls` gives are calls of the same."""
        now = _digest(sought)
        same, self._sought = now == self._sought, now
        return same

    def calls(self, relative: str, now: Stamp | None) -> list[tuple[tuple[str, str], str]] | None:
        """The calls of the project's own operators in a Python file with this stamp; None where they are not known."""
        known = self.entry(relative, now)
        return known.extensions.calls if known is not None and known.extensions is not None else None

    def learn_calls(self, relative: str, calls: list[tuple[tuple[str, str], str]]) -> None:
        """Keep the calls in a Python file whose builds are known."""
        self._extensions[relative].calls = calls

    def settle(self, files: Iterable[str], own_cuda: Iterable[str]) -> None:
        """Say what the project holds; outcomes of a project that held something else are forgotten."""
        context = _digest([*files, "-", *own_cuda])
        if context != self._context:
            for entry in self._new.values():
                entry.outcome = None
        self._context = context

    def outcome(self, relative: str, stamp_now: Callable[[str], Stamp | None]) -> Outcome | None:
        """What the rules found in a file, where that still holds: ``stamp_now`` gives the stamp of a file now."""
        entry = self._new.get(relative)
        if entry is None or entry.outcome is None:
            return None
        for other, then in entry.outcome.depends:
            if stamp_now(other) != then:
                return None
        return entry.outcome

    def learn(self, relative: str, outcome: Outcome) -> None:
        """Keep what the rules found in a file."""
        entry = self._new.get(relative)
        if entry is not None:
            entry.outcome = outcome

    def save(self) -> None:
        """Write the cache; failing to is no error, the next scan is only slower."""
        if self._file is None:
            return
        for relative, extensions in self._extensions.items():
            if relative in self._new:
                self._new[relative].extensions = extensions
        data = msgspec.msgpack.encode(_Stored(self._rules, self._context, self._sought, self._new))
        with contextlib.suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._file.parent, prefix="scan-")
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(data)
                os.replace(temporary, self._file)  # noqa: PTH105
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)  # noqa: PTH108
                raise


def _folder() -> Path:
    import platformdirs

    return Path(os.environ.get("NPUIFY_CACHE_DIR") or platformdirs.user_cache_dir("npuify", appauthor=False)) / "scan"


def _own_code() -> str:
    """Changes whenever a file of npuify itself does."""
    package = Path(version.__file__).parent
    newest = 0
    for folder, _, names in os.walk(package):
        if not folder.endswith("__pycache__"):
            newest = max(newest, *(os.stat(f"{folder}/{name}").st_mtime_ns for name in names), 0)  # noqa: PTH116
    return f"{version.__version__} {newest}"


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()
