"""What a run has found so far, on disk, so that it can go on after it was interrupted."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import platformdirs

from npuify.knowledge.hardware.results import MachineSeen, Outcome
from npuify.language import phrase
from npuify.model import NpuifyError
from npuify.version import __version__

if TYPE_CHECKING:
    from types import TracebackType

    from npuify.selftest.checks import Check


def usual_place() -> Path:
    """The file in the user's cache folder."""
    return Path(platformdirs.user_cache_dir("npuify"), "selftest.jsonl")


class State:
    """A file with a line for the machine and one for each outcome.

    Args:
        resume: take over what a run on the same machine, by the same npuify, has left there.

    Raises:
        NpuifyError: the file cannot be written.
    """

    def __init__(self, path: Path, machine: MachineSeen, *, resume: bool) -> None:
        head = msgspec.json.encode({"npuify": __version__, "machine": machine})
        self.known: dict[str, tuple[Any, Outcome]] = {}
        kept = _read(path, head) if resume else []
        for digest, outcome in kept:
            self.known[outcome.id] = (digest, outcome)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("wb")
        except OSError as error:
            raise NpuifyError(
                phrase("cannot be written: {value}", value=error.strerror or str(error)), file=str(path)
            ) from error
        self._file.write(head + b"\n")
        for digest, outcome in kept:
            self._write(digest, outcome)

    def found(self, check: Check) -> Outcome | None:
        """What an earlier run has of this very check."""
        digest, outcome = self.known.get(check.id, (None, None))
        return outcome if digest == _digest(check) else None

    def keep(self, check: Check, outcome: Outcome) -> None:
        """Write an outcome down."""
        self._write(_digest(check), outcome)

    def _write(self, digest: str, outcome: Outcome) -> None:
        self._file.write(msgspec.json.encode([digest, outcome]) + b"\n")
        self._file.flush()

    def __enter__(self) -> State:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()


def _digest(check: Check) -> str:
    import hashlib

    asked = [check.function, check.arguments, check.expected]
    return hashlib.sha256(msgspec.json.encode(asked, order="deterministic")).hexdigest()[:16]


def _read(path: Path, head: bytes) -> list[tuple[str, Outcome]]:
    found: list[tuple[str, Outcome]] = []
    with contextlib.suppress(OSError, msgspec.DecodeError):
        first, *lines = path.read_bytes().split(b"\n")
        if first == head:
            for line in lines:
                if line:
                    found.append(msgspec.json.decode(line, type=tuple[str, Outcome]))
    return found
