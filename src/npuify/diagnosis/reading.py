"""Logs as streams of bytes: files, folders, gz, and the standard input, in pieces, so that memory stays constant."""

from __future__ import annotations

import os
import re
import sys
import zlib
from collections.abc import Iterator
from io import RawIOBase
from pathlib import Path, PurePath
from typing import Final

from npuify.language import phrase
from npuify.model import NpuifyError

PIECE: Final = 1 << 20
"""Bytes read at once."""

_LOGS: Final = re.compile(r"(?i)\.(?:log|txt|out|err|gz|\d+)$|^(?:std(?:out|err)|plog|device|nohup)|log")


def find_logs(paths: list[Path]) -> list[Path]:
    """The files that ``paths`` name; of a folder, all below it that look like logs, in order of their paths.

    Raises:
        NpuifyError: a path is not there, or nothing below a folder looks like a log.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if str(path) == "-" or path.is_file() or path.is_fifo():
            found[path] = None
        elif path.is_dir():
            below = [
                file
                for file in sorted(path.rglob("*"))
                if file.is_file() and not file.is_symlink() and _LOGS.search(file.name)
            ]
            if not below:
                raise NpuifyError("no file in it looks like a log", file=str(path))
            found.update(dict.fromkeys(below))
        else:
            raise NpuifyError("does not exist", file=str(path))
    return list(found)


def pieces(path: Path) -> Iterator[bytes]:
    """The content of a file, or of the standard input for ``-``, in pieces that end anywhere.

    Raises:
        NpuifyError: it cannot be read, or is a damaged gz file. What came before the damage was given.
    """
    if str(path) == "-":
        yield from _standard_input()
        return
    try:
        with path.open("rb") as plain:
            packed = plain.read(2) == b"\x1f\x8b"
        if packed:
            with path.open("rb", buffering=0) as file:
                yield from _unpacked(file)
        else:
            with path.open("rb", buffering=0) as file:
                while piece := file.read(PIECE):
                    yield piece
    except (EOFError, zlib.error) as error:
        raise NpuifyError(phrase("the gz file is damaged: {error}", error=error), file=str(path)) from error
    except OSError as error:
        raise NpuifyError(error.strerror or str(error), file=str(path)) from error


def _unpacked(file: RawIOBase) -> Iterator[bytes]:
    """A gz file, of one part or several, as far as it can be unpacked.

    Raises:
        EOFError, zlib.error: it is truncated, or is damaged, after what was given.
    """
    unpack = zlib.decompressobj(31)
    while raw := file.read(PIECE >> 2):
        while raw:
            piece = unpack.decompress(raw, PIECE)
            if piece:
                yield piece
            if unpack.eof:
                raw = unpack.unused_data.lstrip(b"\0")
                unpack = zlib.decompressobj(31) if raw else unpack
            else:
                raw = unpack.unconsumed_tail
    if not unpack.eof:
        yield unpack.flush()
        raise EOFError(phrase("it is truncated"))


def _standard_input() -> Iterator[bytes]:
    """What has come so far, without waiting for a whole piece: ``tail -f`` may go on for ever."""
    number = sys.stdin.fileno()
    while piece := os.read(number, PIECE):
        yield piece


_RANK_IN_PATH: Final = (
    # torchrun --log-dir: …/attempt_0/3/stderr.log
    re.compile(r"attempt_\d+/(\d+)/std(?:out|err)\.log"),
    re.compile(r"(?i)(?:^|[/_.-])(?:local_?)?rank[_.=-]?(\d+)(?=[/_.-]|$)"),
    re.compile(r"(?i)(?:^|[/_.-])(?:worker|npu|device|proc|process)[_.=-]?(\d+)(?=[/_.-]|$)"),
)
_PLOG: Final = re.compile(r"(?:plog|device-\d+|device)-(\d+)_\d+\.log")


def rank_of_path(path: PurePath) -> tuple[str, str]:
    """The rank that a file's name tells, and the process number of a plog file; either may be empty."""
    text = path.as_posix()
    plog = _PLOG.search(path.name)
    if plog:
        return "", plog[1]
    for pattern in _RANK_IN_PATH:
        found = pattern.search(text)
        if found:
            return str(int(found[1])), ""
    return "", ""
