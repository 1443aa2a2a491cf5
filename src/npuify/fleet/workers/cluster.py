"""The projects of a fleet examined by the workers of a dask cluster that the user runs.

A worker examines each project in a process of its own, as this machine does, so that the limits are the same and what a
project breaks is not the worker. Dask gives a project to another worker when its own is gone.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import queue
import threading
import time
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import msgspec

from npuify.fleet.model import Fault, Outcome, Task
from npuify.fleet.workers.child import Child
from npuify.fleet.workers.inside import outcome_of
from npuify.language import phrase, speaking
from npuify.model import NpuifyError
from npuify.version import __version__

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

_AT_ONCE: Final = 4
"""Projects that are handed out for each thread of the cluster: none waits for work, and memory stays flat."""
_SECONDS: Final = 20
"""To reach the scheduler, at first and after it was lost."""
_PATIENCE: Final = 0.3
_UNKNOWN: Final = ("CancelledError", "FutureCancelledError", "TimeoutError", "CommClosedError", "LostWorkerError")
"""Errors of futures that say nothing of what became of the task."""


def outcomes(tasks: Sequence[Task], address: str) -> Generator[tuple[Task, Outcome], None, None]:
    """What becomes of each task, each once, in the order in which they are done.

    Args:
        tasks: what to do. Folders are looked for on the workers' machines.
        address: of the scheduler.

    Raises:
        NpuifyError: dask is not installed, the scheduler cannot be reached any more, or a worker lacks npuify.
    """
    try:
        import distributed
    except ImportError:
        raise NpuifyError(
            "dask.distributed is not installed", advice='pip install "npuify[fleet]", here and on the workers'
        ) from None
    # It tells of what is told of here.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = distributed.Client(address, timeout=_SECONDS, set_as_default=False, name="npuify")
    except (OSError, ValueError) as error:
        raise _gone(address) from error
    try:
        threads = _threads(client, address)
        yield from _shared(client, tasks, address, _AT_ONCE * threads)
    finally:
        with contextlib.suppress(Exception):
            client.close(timeout=2)


def _threads(client: Any, address: str) -> int:
    """How many projects the workers can examine at once, all of which have this npuify."""
    try:
        client.wait_for_workers(1, timeout=_SECONDS)
        versions = client.run(version_here)
    except TimeoutError:
        raise NpuifyError(
            "has no workers", advice=phrase("start some: dask worker {address}", address=address), file=address
        ) from None
    except Exception as error:
        raise NpuifyError(
            phrase("its workers cannot run npuify: {error}", error=error),
            advice='install it there, too: pip install "npuify[fleet]"',
            file=address,
        ) from error
    others = sorted(set(versions.values()) - {__version__})
    if others:
        raise NpuifyError(
            phrase("its workers have npuify {others}, this is {own}", others=", ".join(others), own=__version__),
            advice="install the same version everywhere",
            file=address,
        )
    threads: int = sum(client.nthreads().values())
    return max(1, threads)


def version_here() -> str:
    """The version of npuify, asked of a worker."""
    return __version__


def _shared(
    client: Any, tasks: Sequence[Task], address: str, at_once: int
) -> Generator[tuple[Task, Outcome], None, None]:
    waiting = iter(tasks)
    handed: dict[str, tuple[Any, Task]] = {}
    done: queue.SimpleQueue[str] = queue.SimpleQueue()

    def hand_out(task: Task | None) -> None:
        if task is not None:
            key = f"npuify-{uuid4().hex}"
            future = client.submit(work, msgspec.msgpack.encode(task), key=key, pure=False)
            handed[key] = future, task
            future.add_done_callback(lambda _: done.put(key))

    for task in itertools.islice(waiting, at_once):
        hand_out(task)
    while handed:
        try:
            key = done.get(timeout=_PATIENCE)
        except queue.Empty:
            # A scheduler that is gone does not end what it was given.
            _see_to_it(client, address)
            continue
        if key not in handed:
            continue
        future, task = handed.pop(key)
        outcome = _answer(future, task)
        if outcome is None:
            # The scheduler has forgotten it: it was gone for a moment, or for good.
            _see_to_it(client, address)
            hand_out(task)
            continue
        future.release()
        hand_out(next(waiting, None))
        yield task, outcome


def _answer(future: Any, task: Task) -> Outcome | None:
    """What became of a task; None where the cluster no longer knows."""
    if future.status in ("cancelled", "lost"):
        return None
    try:
        data: bytes = future.result(timeout=_SECONDS)
    except Exception as error:
        if type(error).__name__ in _UNKNOWN:
            return None
        how = " ".join(f"{type(error).__name__}: {error}".split())[:400]
        with speaking(task.language):
            return Outcome(
                fault=Fault(
                    "crash",
                    phrase("the cluster gave it up: {how}", how=how),
                    phrase("see what ended the workers; the limits of npuify hold for each project"),
                )
            )
    return outcome_of(data)


def _see_to_it(client: Any, address: str) -> None:
    """Wait for the scheduler where it cannot be reached.

    Raises:
        NpuifyError: it does not come back.
    """
    until = time.monotonic() + _SECONDS
    while client.status != "running":
        if client.status == "closed" or time.monotonic() > until:
            raise _gone(address)
        time.sleep(_PATIENCE)


def _gone(address: str) -> NpuifyError:
    return NpuifyError(
        "the scheduler cannot be reached",
        advice="what was done is kept; start it, and run the same command again to go on",
        file=address,
    )


# --- on the workers ---

_here = threading.local()


def work(data: bytes) -> bytes:
    """Do a task; this runs in a thread of a worker, which keeps its process from one project to the next."""
    if not hasattr(_here, "child"):
        _here.child = Child()
    child: Child = _here.child
    return msgspec.msgpack.encode(child.run(msgspec.msgpack.decode(data, type=Task)))
