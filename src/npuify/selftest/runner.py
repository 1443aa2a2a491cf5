"""Asks the machine: batches of questions in processes that may crash or hang, each fault attributed to the question
at hand."""

from __future__ import annotations

import queue
import threading
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

import msgspec

from npuify.knowledge.hardware.results import LONGEST_ANSWER, MachineSeen, Outcome, Status
from npuify.language import phrase, plural
from npuify.model import NpuifyError
from npuify.selftest.inside.ask import without_machine
from npuify.selftest.worker import Worker, WorkerGone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from npuify.selftest.checks import Check
    from npuify.selftest.worker import Message

AT_ONCE: Final = 40
_COMPUTING: Final = frozenset(("attention", "custom", "kernels", "operators"))
"""Areas whose questions end in numbers, which nothing computes on stand-ins for the driver."""
"""Questions in a batch, unless they form a group."""
_DESCRIBE: Final = {"id": "machine", "function": "machine:describe", "arguments": {}, "seconds": 300}


def describe(worker: Worker) -> MachineSeen:
    """What the machine is.

    Raises:
        NpuifyError: the NPU cannot be used.
    """
    error = phrase("the process ended")
    try:
        # To the end, or the next batch would begin with what is left of this one.
        for message in list(worker.ask([_DESCRIBE])):
            if "began" in message:
                continue
            if "seen" in message:
                return msgspec.convert(message["seen"], MachineSeen)
            error = str(message.get("raised") or message.get("cannot") or message.get("ended") or error)
    except WorkerGone:
        pass
    raise NpuifyError(
        phrase("the NPU cannot be asked: {error}", error=without_machine(error)), advice=phrase("run npuify doctor")
    )


class Runner:
    """Asks checks, and hands on each outcome as it comes.

    Args:
        python: the interpreter that has torch_npu.
        first: a worker that is there already, for questions without variables of their own.
        jobs: processes that ask at the same time.
        told: is given each check with its outcome.
    """

    def __init__(
        self, python: str, first: Worker, machine: MachineSeen, *, jobs: int, told: Callable[[Check, Outcome], None]
    ) -> None:
        self._python, self._machine, self._jobs = python, machine, jobs
        self._idle: dict[tuple[tuple[str, str], ...], list[Worker]] = defaultdict(list)
        self._idle[()].append(first)
        self._all = [first]
        self._told = told
        self._lock = threading.Lock()
        self._failed: BaseException | None = None

    def run(self, checks: Iterable[Check]) -> None:
        """Ask them all."""
        waiting: queue.SimpleQueue[list[Check]] = queue.SimpleQueue()
        for batch in batches(list(self._possible(checks))):
            waiting.put(batch)
        threads = [threading.Thread(target=self._work, args=(waiting,), daemon=True) for _ in range(self._jobs)]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.2)
        finally:
            for worker in self._all:  # also those that still ask, where the run was interrupted
                worker.close()
        if self._failed is not None:
            raise self._failed

    def _possible(self, checks: Iterable[Check]) -> Iterable[Check]:
        for check in checks:
            if check.cards > self._machine.cards:
                if check.counts:
                    why = plural("needs {count} card", "needs {count} cards", check.cards)
                    self._told(check, outcome_of(check, {"cannot": why}))
            else:
                yield check

    def _work(self, waiting: queue.SimpleQueue[list[Check]]) -> None:
        while self._failed is None:
            try:
                batch = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                self._ask(batch)
            except BaseException as error:
                self._failed = error
                return

    def _ended(self, check: Check, message: Message) -> Message:
        """A message, where stand-ins crash over numbers that nothing computed, as one that says so."""
        computes = self._machine.kind == "stand-in" and check.area in _COMPUTING
        return {"cannot": "there is no kernel here"} if computes and "ended" in message else message

    def _worker(self, environment: Mapping[str, str]) -> Worker:
        with self._lock:
            idle = self._idle[tuple(sorted(environment.items()))]
            if idle:
                return idle.pop()
        made = Worker(self._python, environment)
        with self._lock:
            self._all.append(made)
        return made

    def _ask(self, batch: list[Check]) -> None:
        while batch:
            left = {check.id: check for check in batch}
            at_hand = batch[0].id
            worker = self._worker(batch[0].environment)
            try:
                for message in worker.ask([question_of(check) for check in batch]):
                    at_hand = message["id"]
                    if "began" not in message:
                        self._tell(left.pop(at_hand), message)
            except WorkerGone:
                worker.close()
                if at_hand in left:
                    self._tell(left.pop(at_hand), {"ended": "hung"})
            except BaseException:
                worker.close()
                raise
            else:
                with self._lock:
                    self._idle[tuple(sorted(batch[0].environment.items()))].append(worker)
            batch = [check for check in batch if check.id in left]

    def _tell(self, check: Check, message: Message) -> None:
        if check.counts:
            with self._lock:
                self._told(check, outcome_of(check, self._ended(check, message)))


def question_of(check: Check) -> Message:
    """A check as the worker reads it."""
    return {
        "id": check.id,
        "function": check.function,
        "arguments": msgspec.to_builtins(check.arguments),
        "seconds": check.seconds,
    }


def batches(checks: Sequence[Check]) -> list[list[Check]]:
    """Checks that are asked together: those of a group, else a number of those that come one after the other."""
    made: list[list[Check]] = []
    open_ones: dict[tuple[Any, ...], list[Check]] = {}
    for check in checks:
        key = (check.area, check.group, tuple(sorted(check.environment.items())))
        batch = open_ones.get(key)
        if check.alone or batch is None or (not check.group and len(batch) >= AT_ONCE):
            batch = []
            made.append(batch)
            if not check.alone:
                open_ones[key] = batch
        batch.append(check)
    return made


def outcome_of(check: Check, message: Message) -> Outcome:
    """What a message of the worker says of a check."""
    expected = msgspec.to_builtins(check.expected)
    seen, why = message.get("seen"), ""
    if "cannot" in message:
        status, why = Status.NOT_ASKED, phrase(without_machine(str(message["cannot"])))
    elif "ended" in message:
        status = Status.HUNG if message["ended"] == "hung" else Status.CRASHED
        seen = message["ended"]
    elif "raised" in message:
        status, seen = Status.DIFFERS, f"raises {message['raised']}"
    else:
        status = Status.HELD if seen == expected else Status.DIFFERS
    return Outcome(
        id=check.id,
        claim=check.claim[:1000],
        status=status,
        subject=check.subject,
        evidence=check.evidence,
        expected=None if status is Status.NOT_ASKED else plain(expected),
        seen=None if status is Status.NOT_ASKED else plain(seen),
        why=why,
    )


def plain(value: Any) -> Any:
    """An answer as a result may hold it: nothing of the machine, and not too long."""
    made = _plain(value)
    return made if len(msgspec.json.encode(made)) <= LONGEST_ANSWER else phrase("too long to be told")


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return without_machine(value)
    if isinstance(value, dict):
        return {_plain(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value
