"""How far it came, for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from npuify.language import commas, mark, padded, phrase
from npuify.port.model import State
from npuify.report import printable
from npuify.visible import in_one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.port.model import Decision, PortReport, Stage

_MARKS: Final = {State.DONE: mark("done   "), State.FAILED: mark("FAILED "), State.NOT_RUN: mark("not run")}
_NAMES: Final = {
    "scan": mark("Scan"),
    "migrate": mark("Migrate"),
    "doctor": mark("Machine"),
    "run": mark("Short run"),
    "compare": mark("Compare"),
    "handover": mark("Hand over"),
}

_BEGUN: Final = (
    *(mark("scan"), mark("migrate"), mark("doctor"), mark("run"), mark("handover")),
    *(mark("forward and backward"), mark("compare"), mark("iterations"), mark("loss"), mark("resume"), mark("cards")),
)
"""What stages, and steps of the run, are called while they run."""


def begun(what: str) -> str:
    """What is told when a stage begins."""
    return f"npuify: {phrase(what)} …"


def render_text(report: PortReport) -> str:
    """The stages with what was seen, then what has to be decided, or what there is now."""
    lines = [line for stage in report.stages for line in _stage(stage)]
    lines += [""]
    lines += _decision(report.decision) if report.decision is not None else _end(report)
    return printable("\n".join(lines) + "\n")


def headline(stage: Stage) -> str:
    """A stage in one line."""
    state, name = padded(phrase(_MARKS[stage.state]), 7), padded(phrase(_NAMES[stage.name]), 9)
    return printable(f"{state}  {name}  {in_one_line(stage.message)}")


def _stage(stage: Stage) -> Iterator[str]:
    yield headline(stage)
    space = " " * 20
    yield from (f"{space}{in_one_line(one)}" for one in stage.evidence)
    if stage.advice:
        yield f"{space}-> {in_one_line(stage.advice)}"
    yield from (space + phrase("wrote {file}", file=in_one_line(one)) for one in stage.files)


def _decision(decision: Decision) -> Iterator[str]:
    yield phrase("Your decision: {question}", question=in_one_line(decision.question))
    yield from (f"  {in_one_line(one)}" for one in decision.places)
    for number, choice in enumerate(decision.choices, 1):
        yield f"{number}. {choice.what}"
        if choice.command:
            yield f"   {in_one_line(choice.command)}"


def _end(report: PortReport) -> Iterator[str]:
    missing = [phrase(_NAMES[stage.name]) for stage in report.stages if stage.state is State.NOT_RUN]
    if missing:
        yield phrase(
            "Migrated to {destination}; not everything was run: {missing}.",
            destination=report.destination,
            missing=commas(missing),
        )
    else:
        yield phrase("Migrated to {destination}, run and compared.", destination=report.destination)
    yield phrase(
        "A simulation says nothing of a real card's results, speed or limits. The checklist says what is left."
    )
