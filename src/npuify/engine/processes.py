"""Work shared out among processes, which are started when there is enough of it, and kept from one task to the next."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import threading
import warnings
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from npuify.language import phrase, speak, spoken
from npuify.model import FileError
from npuify.source.parser_warnings import without_warnings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future, ProcessPoolExecutor
    from types import TracebackType

    Progress = Callable[[int, int], None]

Answer = TypeVar("Answer")

_MOST_DEATHS = 20
"""Processes that may die, each with the file that it works on, before the run is given up."""
_LONGEST_CHUNK = 32
"""Files that a process is given at once."""
_MOST_SENT = 200_000_000
"""Bytes by which the task itself, sent with each chunk, may cost more than a few chunks would."""


class FileItem(Protocol):
    """Something to be done for one file."""

    @property
    def relative(self) -> str: ...


Item = TypeVar("Item", bound=FileItem)


class Processes:
    """The processes of a run.

    Args:
        jobs: how many to use; 0 means one a core.
    """

    def __init__(self, jobs: int) -> None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self._most = jobs or cores
        self._executor: ProcessPoolExecutor | None = None
        self._count = 1
        self._tasks = 0

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._close(wait=kind is None)

    def warm_up(self, task: Callable[..., object], items: int, *, files_per_process: int) -> None:
        """Start processes for what is to come, so that they import what they need while this one does other things.

        Args:
            task: a function of the module that they will need.
            items: how many there will be.
            files_per_process: as :meth:`map` takes it.
        """
        count = self._fitting(items, files_per_process)
        if count > 1 and self._executor is None:
            data = pickle.dumps(task)
            with _interrupts_held():
                executor = self._start(count)
                for _ in range(count):
                    executor.submit(_load, data)

    def map(
        self,
        task: Callable[[Item], Answer],
        items: Sequence[Item],
        *,
        files_per_process: int,
        on_crash: Callable[[FileError], Answer],
        progress: Progress | None = None,
    ) -> list[Answer]:
        """What ``task`` gives for each item, in their order.

        Args:
            task: what to do; it is sent to the processes, once a chunk of items.
            items: what to do it for.
            files_per_process: as many items take about as long as starting a process does; with fewer for each, none is
                started.
            on_crash: gives the answer for an item with which the process that worked on it died.
            progress: called with the number of items done and of items to do.
        """
        if self._executor is None and self._fitting(len(items), files_per_process) > 1:
            self._start(self._fitting(len(items), files_per_process))
        if self._executor is not None and len(items) > 1:
            return self._shared(task, items, progress, on_crash)
        answers = []
        with without_warnings():
            for done, item in enumerate(items, start=1):
                answers.append(task(item))
                if progress is not None:
                    progress(done, len(items))
        return answers

    def _fitting(self, items: int, files_per_process: int) -> int:
        return min(self._most, max(1, items // files_per_process))

    def _start(self, count: int) -> ProcessPoolExecutor:
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        self._count = count
        context = multiprocessing.get_context("spawn")
        self._executor = ProcessPoolExecutor(count, mp_context=context, initializer=_begin, initargs=(spoken(),))
        return self._executor

    def _close(self, *, wait: bool) -> None:
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=wait, cancel_futures=not wait)

    def _shared(
        self,
        task: Callable[[Item], Answer],
        items: Sequence[Item],
        progress: Progress | None,
        on_crash: Callable[[FileError], Answer],
    ) -> list[Answer]:
        from concurrent.futures.process import BrokenProcessPool

        answers: list[Answer] = []
        data = pickle.dumps(task)
        deaths = 0

        def report() -> None:
            if progress is not None:
                progress(len(answers), len(items))

        while len(answers) < len(items):
            try:
                for answer in self._chunks(data, items[len(answers) :], single=deaths > 0):
                    answers.append(answer)
                    report()
            except BrokenProcessPool:
                self._close(wait=False)
                if deaths and len(answers) < len(items):
                    # One process took the files in their order, so it died of this one.
                    answers.append(on_crash(_died_of(items[len(answers)])))
                    report()
                deaths += 1
                if deaths > _MOST_DEATHS:
                    raise
        if deaths:
            # The one process that was enough to find who died of what is too few for what comes.
            self._close(wait=True)
        return answers

    def _chunks(self, data: bytes, items: Sequence[Item], *, single: bool) -> Iterator[Any]:
        """The answers in the order of the items; ``single`` has one process take them one by one."""
        executor = self._executor or self._start(1 if single else self._count)
        size = 1
        if not single:
            size = max(1, min(_LONGEST_CHUNK, len(items) // (self._count * 4)), len(items) * len(data) // _MOST_SENT)
        self._tasks += 1
        running: list[Future[list[Any]]] = []
        with _interrupts_held():
            for at in range(0, len(items), size):
                # A single process keeps what it was sent first.
                sent = data if not single or at == 0 else None
                running.append(executor.submit(_do, self._tasks, sent, items[at : at + size]))
        running.reverse()
        while running:
            yield from running.pop().result()


def _died_of(item: FileItem) -> FileError:
    return FileError(
        item.relative,
        phrase("the process that looked at it died"),
        advice=phrase("it was left as it is; if memory did not run out, please report this as a defect of npuify"),
    )


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C waits while processes start: they inherit that, and print no traceback of their own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


# --- in the other processes ---

_task: tuple[int, Callable[[Any], Any]] | None = None
"""The task at hand, with its number."""


def _begin(language: str) -> None:
    import gc

    speak(language)

    # The parent decides what Ctrl-C means; a process that dies of it would print a traceback of its own.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()
    warnings.simplefilter("ignore")


def _load(data: bytes) -> None:
    """Import what a task needs, as the parent sent it."""
    pickle.loads(data)


def _do(number: int, data: bytes | None, items: Sequence[Any]) -> list[Any]:
    global _task
    if data is not None and (_task is None or _task[0] != number):
        _task = (number, pickle.loads(data))
    assert _task is not None
    task = _task[1]
    return [task(item) for item in items]
