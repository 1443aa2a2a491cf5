"""What ``npuify doctor`` reads of a machine must be what the device says, and what it calls broken must be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from npuify.doctor.smoke import PROGRAMS
from npuify.language import mark, phrase
from npuify.model import Evidence
from npuify.process.itself import npuify_command
from npuify.selftest.checks import Check, Unchecked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.release.table import ReleaseTable

_TOPICS = {
    "python": mark("the version of Python"),
    "architecture": mark("the machine's architecture"),
    "torch": mark("the version of torch"),
    "torch_npu": mark("the version of torch_npu"),
    "cards": mark("the number of cards"),
    "chip": mark("the name of the chip"),
    "memory": mark("the memory of a card"),
    "CANN": mark("the version of CANN"),
    "DRIVER": mark("the version of the driver"),
}
"""What is asked of both; the last two as torch_npu.npu.utils.get_cann_version names them."""
_NOT_ASKED = {
    "firmware": mark("nothing that programs can call tells it"),
    "addresses of cards": mark("only an administrator may ask the card for them"),
    "limits and groups of the host": mark("they are the host's, and no device tells them"),
}


def checks(table: ReleaseTable) -> Iterator[Check | Unchecked]:
    """A check for each thing that the doctor reads and a device tells, and for each of its small programs."""
    command = npuify_command(["doctor", "--no-smoke", "--format", "json"])
    for topic, what in _TOPICS.items():
        claim = phrase("doctor reads {what} as the device and Python say it", what=phrase(what))
        yield _check(topic, claim, "agrees", {"topic": topic, "command": command}, True)
    claim = phrase("doctor finds no error on a machine whose NPU works")
    yield _check("no error", claim, "errors", {"command": command}, [])
    for program in PROGRAMS:
        claim = phrase("doctor's small program runs: {what}", what=phrase(program.what))
        yield _check(program.name, claim, "works", {"code": program.code}, "", cards=program.cards)
    for subject, why in _NOT_ASKED.items():
        yield Unchecked("doctor", subject, phrase(why))


def _check(
    name: str, claim: str, function: str, arguments: dict[str, Any], expected: object, *, cards: int = 1
) -> Check:
    return Check(
        id=f"doctor/{name}",
        claim=claim,
        subject="",
        evidence=Evidence.DOCUMENTED,
        source="npuify doctor",
        function=f"doctor:{function}",
        arguments=arguments,
        expected=expected,
        cards=cards,
        group="doctor",
        seconds=300,
        quick=function != "works" or name == "smoke.add",
    )
