"""The scan of a whole folder, in a process of its own: what is typed meanwhile is looked at at once."""

from __future__ import annotations

import multiprocessing
import os
from typing import TYPE_CHECKING, Final, NamedTuple

import npuify
from npuify.editor.session import options_for
from npuify.language import speak, spoken
from npuify.model import NpuifyError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection
    from pathlib import Path

    from npuify.model import FileError, Finding

_PAUSE: Final = 0.1
_GOES_ON, _FOUND, _REFUSED = range(3)


class Cancelled(Exception):
    """The user stopped it."""


class Found(NamedTuple):
    """What a scan found."""

    findings: Sequence[Finding]
    errors: Sequence[FileError]


def scan_folder(folder: Path, told: Callable[[int, int], None], is_cancelled: Callable[[], bool]) -> Found:
    """Scan a folder, with its own settings.

    Args:
        folder: of the workspace.
        told: called with files done and files to do, first while they are read, then while they are looked at.
        is_cancelled: asked several times a second.

    Raises:
        Cancelled: the process was ended.
        NpuifyError: the settings are wrong, or the process died.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(theirs, folder, spoken()), daemon=True)
    process.start()
    theirs.close()
    try:
        while True:
            if is_cancelled():
                raise Cancelled
            if not ours.poll(_PAUSE):
                continue
            kind, *said = ours.recv()
            if kind == _FOUND:
                return Found(*said)
            if kind == _REFUSED:
                raise NpuifyError(said[0])
            told(*said)
    except EOFError:
        raise NpuifyError("the scan ended without an answer", file=str(folder)) from None
    finally:
        process.terminate()
        process.join()
        ours.close()


def _work(theirs: Connection, folder: Path, language: str) -> None:
    # The client reads what this process was given as its standard output.
    os.dup2(2, 1)
    speak(language)

    def told(done: int, total: int) -> None:
        # One step in a hundred is enough to be seen.
        if total and (done == total or done % max(total // 100, 1) == 0):
            theirs.send((_GOES_ON, done, total))

    try:
        result = npuify.scan([folder], options_for(folder), progress=told, preparing=told)
    except NpuifyError as error:
        theirs.send((_REFUSED, str(error)))
    else:
        theirs.send((_FOUND, result.findings, result.errors))
    theirs.close()
