"""The projects of a fleet examined on this machine, by some processes."""

from __future__ import annotations

import os
import queue
import threading
from typing import TYPE_CHECKING, Final

from npuify.fleet.workers.child import Child

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from npuify.fleet.model import Outcome, Task

_PATIENCE: Final = 0.2
"""Seconds after which a thread that waits looks up, so that Ctrl-C is seen on every system."""


def outcomes(tasks: Sequence[Task], jobs: int) -> Generator[tuple[Task, Outcome], None, None]:
    """What becomes of each task, in the order in which they are done. Processes end when this is closed.

    Args:
        tasks: what to do.
        jobs: how many processes to use; 0 means one a core.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    children = [Child() for _ in range(min(jobs or cores, len(tasks)))]
    waiting = iter(tasks)
    lock = threading.Lock()
    stop = threading.Event()
    # Few, so that results that are not written yet take little memory.
    done: queue.Queue[tuple[Task, Outcome]] = queue.Queue(2 * len(children) + 1)

    def work(child: Child) -> None:
        while not stop.is_set():
            with lock:
                task = next(waiting, None)
            if task is None:
                break
            answer = (task, child.run(task))
            while not stop.is_set():
                try:
                    done.put(answer, timeout=_PATIENCE)
                    break
                except queue.Full:
                    continue
        child.close()

    threads = [threading.Thread(target=work, args=(child,), daemon=True) for child in children]
    try:
        for thread in threads:
            thread.start()
        for _ in range(len(tasks)):
            while True:
                try:
                    answer = done.get(timeout=_PATIENCE)
                    break
                except queue.Empty:
                    continue
            yield answer
    finally:
        stop.set()
        for child in children:
            child.close()
        for thread in threads:
            if thread.ident is not None:
                thread.join()
