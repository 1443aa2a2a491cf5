"""Environment variables that choose cards, and those that are for finding faults."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from npuify.language import mark, phrase, semicolons
from npuify.model import Evidence
from npuify.report.doctor import Mend, Result, Status

from .base import check, result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.doctor.facts import Facts

VISIBLE = "ASCEND_RT_VISIBLE_DEVICES"


@check(
    "environment.visible-devices",
    "The card selection is valid",
    after=("cards.seen",),
    needs=lambda facts: bool(facts.environment),
    live=True,
)
def visible_devices(facts: Facts) -> Iterator[Result]:
    """``ASCEND_RT_VISIBLE_DEVICES`` is a list of card numbers that are there, each once."""
    value = facts.environment.get(VISIBLE)
    cuda = facts.environment.get("CUDA_VISIBLE_DEVICES")
    if value is None:
        if cuda:
            yield result(
                "environment.visible-devices",
                Status.WARNING,
                phrase("CUDA_VISIBLE_DEVICES={cuda} has no effect on an NPU, so the program sees all cards", cuda=cuda),
                advice=phrase("set {VISIBLE} instead", VISIBLE=VISIBLE),
                mend=Mend((f"export {VISIBLE}={cuda}",), place="shell"),
                source="torch_npu reads ASCEND_RT_VISIBLE_DEVICES",
            )
        return
    problem = _problem(value, len(facts.smi.cards))
    if problem:
        yield result(
            "environment.visible-devices",
            Status.ERROR,
            f"{VISIBLE}={value!r}: {problem}",
            advice=phrase(
                "list card numbers separated by commas, such as 0,1,2,3; they start at 0 within the container"
            ),
            mend=Mend((f"unset {VISIBLE}",), place="shell"),
            evidence=Evidence.REPORTED,
            source="CANN error EE2002; gpustack/gpustack#3352 (input data rang[0-2))",
        )


def _problem(value: str, cards: int) -> str:
    if not value.strip():
        return phrase("it is empty, so no card is visible")
    parts = value.split(",")
    for part in parts:
        if not re.fullmatch(r"\d+", part):
            return phrase("{part!r} is not a card number", part=part)
    numbers = [int(part) for part in parts]
    if len(set(numbers)) < len(numbers):
        twice = next(number for number in numbers if numbers.count(number) > 1)
        return phrase("card {twice} is listed twice", twice=twice)
    if numbers != sorted(numbers):
        return phrase("the numbers do not ascend, so no card is visible")
    if cards and max(numbers) >= cards:
        return phrase(
            "there is no card {numbers}: they are numbered 0 to {value}", numbers=max(numbers), value=cards - 1
        )
    return ""


_FOR_FAULTS: Final = {
    "ASCEND_LAUNCH_BLOCKING": (("1",), mark("every operator is waited for before the next one is started")),
    "ASCEND_GLOBAL_LOG_LEVEL": (("0", "1"), mark("CANN logs all that it does")),
    "ASCEND_SLOG_PRINT_TO_STDOUT": (("1",), mark("CANN logs to the terminal")),
}
"""Switches for finding faults: the values that turn them on, and what they do."""


@check(
    "environment.debug",
    "No switches for finding faults are on",
    needs=lambda facts: bool(facts.environment),
    live=True,
)
def debug(facts: Facts) -> Iterator[Result]:
    """What helps to find a fault makes every run slow."""
    on = [
        (name, value, what)
        for name, (values, what) in _FOR_FAULTS.items()
        if (value := facts.environment.get(name)) in values
    ]
    if on:
        yield result(
            "environment.debug",
            Status.WARNING,
            phrase(
                "switches for finding faults are on, and make programs slow: {shown}",
                shown=semicolons([f"{name}={value}: {phrase(what)}" for name, value, what in on]),
            ),
            advice=phrase("unset them where no fault is looked for"),
            mend=Mend(("unset " + " ".join(name for name, _, _ in on),), place="shell"),
            source="Ascend/pytorch documentation, ASCEND_LAUNCH_BLOCKING.md; CANN, ASCEND_GLOBAL_LOG_LEVEL",
        )
