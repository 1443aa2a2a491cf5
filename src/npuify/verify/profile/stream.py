"""The events of a trace in Chrome's format, one after another, however large the file is."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, cast

from npuify.language import phrase
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHUNK: Final = 1 << 22
"""Characters read at a time."""
_LONGEST: Final = 1 << 26
"""Characters of one event. What is longer is no event, and would fill the memory."""
_EVENTS: Final = re.compile(r'"traceEvents"\s*:\s*\[')
_BETWEEN: Final = re.compile(r"[\s,]*")


def events(path: Path, notes: list[str] | None = None) -> Iterator[dict[str, Any]]:
    """Each event of a trace: a bare list, as torch_npu writes it, or an object with ``traceEvents``, as PyTorch does.

    No more than some megabytes are held at a time. A file that breaks off, as of a program that was ended, gives what
    it holds, and a note.

    Args:
        notes: where to put what a person should know.

    Raises:
        NpuifyError: the file cannot be read, or holds no events.
    """
    try:
        with _opened(path) as stream:
            yield from _events(stream, path, notes if notes is not None else [])
    except (OSError, EOFError) as error:
        raise NpuifyError(
            phrase("cannot be read: {value}", value=getattr(error, "strerror", "") or error), file=str(path)
        ) from None


def _opened(path: Path) -> IO[str]:
    with path.open("rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
    if packed:
        return cast("IO[str]", gzip.open(path, "rt", encoding="utf-8", errors="replace"))
    return path.open(encoding="utf-8-sig", errors="replace")


def _events(stream: IO[str], path: Path, notes: list[str]) -> Iterator[dict[str, Any]]:
    buffer, place = _to_first_event(stream, path)
    decoder, ended = json.JSONDecoder(), False
    while True:
        match = _BETWEEN.match(buffer, place)
        place = match.end() if match is not None else place
        if place < len(buffer) and buffer[place] == "]":
            return
        if place < len(buffer):
            try:
                event, place = decoder.raw_decode(buffer, place)
            except json.JSONDecodeError:
                pass
            else:
                if isinstance(event, dict):
                    yield event
                continue
        if ended:
            if buffer[place:].strip():
                notes.append(phrase("{name} is truncated; the part before is used", name=path.name))
            else:
                notes.append(phrase("{name} has no end; its contents are used", name=path.name))
            return
        if len(buffer) - place > _LONGEST:
            raise NpuifyError("contains something that is not an event", file=str(path))
        more = stream.read(_CHUNK)
        ended = not more
        buffer, place = buffer[place:] + more, 0


def _to_first_event(stream: IO[str], path: Path) -> tuple[str, int]:
    """What was read so far, and the place after the bracket that opens the events."""
    buffer = stream.read(_CHUNK)
    start = buffer.lstrip()
    if start.startswith("["):
        return start, 1
    if start.startswith("{"):
        read = len(buffer)
        while True:
            match = _EVENTS.search(buffer)
            if match is not None:
                return buffer, match.end()
            more = stream.read(_CHUNK)
            read += len(more)
            if not more or read > _LONGEST:
                break
            # PyTorch writes what it knows of the device before the events; nothing else is large there.
            buffer = buffer[-64:] + more
    raise NpuifyError(
        "is not a profiler trace",
        advice="a trace is JSON: a list of events, or an object with traceEvents",
        file=str(path),
    )
