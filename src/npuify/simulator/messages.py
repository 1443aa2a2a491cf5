"""What the simulator says of itself, on stderr: once for a run, however many processes the program starts."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
import uuid
from typing import TYPE_CHECKING, Final

from npuify.language import mark
from npuify.simulator.device.build import cache_folder
from npuify.simulator.settings import PREFIX

if TYPE_CHECKING:
    from pathlib import Path

_RUN = f"{PREFIX}_RUN"
_KEPT = 24 * 3600.0
"""Seconds after which the notes of a run are swept away."""
_said: set[str] = set()
CPU_ONLY: Final = mark("Numbers and speed are those of this machine's CPU, not of an NPU.")


def new_run(environ: dict[str, str], cache: str) -> None:
    """Have the processes that inherit ``environ`` say each thing once among them. Notes of old runs are removed.

    Args:
        cache: folder of the compiled device; empty: the user's.
    """
    environ[_RUN] = uuid.uuid4().hex
    with contextlib.suppress(OSError):
        for old in _folder(cache).iterdir():
            if time.time() - old.stat().st_mtime > _KEPT:
                shutil.rmtree(old, ignore_errors=True)


def say(text: str, *, topic: str) -> None:
    """Print ``text``, unless a process of this run has said something on that topic.

    Outside of ``npuify simulate``, and where no note can be left, each process speaks for itself.

    Args:
        topic: what the message is about: letters, digits and hyphens.
    """
    if topic in _said:
        return
    _said.add(topic)
    if not _said_by_another(topic):
        print(text, file=sys.stderr, flush=True)


def _said_by_another(topic: str) -> bool:
    run = os.environ.get(_RUN, "")
    if not run.isalnum():
        return False
    notes = _folder(os.environ.get(f"{PREFIX}_CACHE", "")) / run
    try:
        notes.mkdir(parents=True, exist_ok=True)
        os.close(os.open(notes / topic, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return True
    except OSError:
        return False
    return False


def _folder(cache: str) -> Path:
    return cache_folder(cache) / "said"
