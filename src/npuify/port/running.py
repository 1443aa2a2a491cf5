"""The stages that run the project: the doctor, a short run, the comparison; and what is handed over."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, NamedTuple

from npuify.language import phrase, sentences, spoken
from npuify.language import told as in_words
from npuify.model import NpuifyError
from npuify.port import decisions, ended
from npuify.port.model import Stage, State
from npuify.verify.steps.model import Status, Where

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from npuify.model import EntryPoint
    from npuify.options import Options
    from npuify.port.decisions import Commands
    from npuify.port.model import Decision, PortOptions
    from npuify.verify.steps.model import AcceptanceReport, Devices, StepResult

_FOLDER = "npuify-report"
_STATES = {Status.PASSED: State.DONE, Status.FAILED: State.FAILED, Status.NOT_RUN: State.NOT_RUN}


class Outcome(NamedTuple):
    """What running came to.

    Attributes:
        decision: what a person has to decide; None where all that can be run here was, or needs what the stage says.
        entry: the command that was run; empty where none was.
    """

    decision: Decision | None
    entry: str = ""


def run(
    source: Path,
    destination: Path,
    asked: PortOptions,
    points: Sequence[EntryPoint],
    commands: Commands,
    begins: Callable[[str], None],
    told: Callable[[Stage], None],
) -> Outcome:
    """Run the migrated program and the original for some steps, and compare them.

    Args:
        source, destination: the original, and the migrated copy.
        asked: what was said of running.
        points: the project's entry points.
        commands: how to go on.
        begins, told: as :func:`npuify.port.way.port` takes them.

    Raises:
        NpuifyError: the command that was named cannot be run.
    """
    from npuify.verify.steps import tensorflow
    from npuify.verify.steps.machine import devices_for
    from npuify.verify.steps.plan import make_plan

    try:
        make_plan(
            source,
            points,
            entry=asked.entry,
            reference_entry=asked.reference_entry,
            migrated=destination,
        )
    except NpuifyError as error:
        if asked.entry:
            raise
        return Outcome(decisions.which_program(error, points, commands))
    begins("run")
    try:
        if tensorflow.is_asked_for(source, asked.entry):
            devices, _ = tensorflow.chosen(asked.python, asked.target, None)
        else:
            devices = devices_for(asked.python)
    except NpuifyError as error:
        told(_not_run("run", error, commands))
        told(Stage("compare", State.NOT_RUN, phrase("Nothing was run that could be compared.")))
        return Outcome(None)
    if (devices.npu or devices.adapter) and asked.target != "simulated":
        stage, decision = _doctor(destination, devices, commands, begins)
        told(stage)
        if decision is not None:
            return Outcome(decision)
    try:
        report = _accepted(source, destination, asked, begins)
    except NpuifyError as error:
        told(_not_run("run", error, commands))
        told(Stage("compare", State.NOT_RUN, phrase("Nothing was run that could be compared.")))
        return Outcome(None)
    files = _written(destination, report)
    ran = _ran(report, destination, files)
    compares = "loss" if report.devices.tensorflow else "compare"
    compared = _compared(next(one for one in report.steps if one.name == compares))
    told(ran)
    told(compared)
    # A folder that was found is said with the command from here on.
    entry = report.entry if report.entry.startswith("cd ") else asked.entry or report.entry
    decision = ended.after_run([ran, compared], source, entry, points, commands, _ended(report, asked))
    return Outcome(decision, entry)


def _ended(report: AcceptanceReport, asked: PortOptions) -> ended.Ended:
    failed = [one for one in report.steps if one.status is Status.FAILED]
    return ended.Ended(
        as_the_original=report.original_fails_too,
        seconds=asked.timeout if any(one.seconds >= asked.timeout for one in failed) else 0,
        on_cpu=any(one.where is Where.CPU for one in failed),
        original=report.original_failed,
    )


def _not_run(name: str, error: NpuifyError, commands: Commands) -> Stage:
    again = commands.resume()
    if error.advice:
        advice = phrase("{advice}; then: {command}", advice=error.advice, command=again)
    else:
        advice = phrase("Then: {command}", command=again)
    return Stage(name, State.NOT_RUN, f"{error.message}.", advice=advice)


def _doctor(
    destination: Path, devices: Devices, commands: Commands, begins: Callable[[str], None]
) -> tuple[Stage, Decision | None]:
    from npuify.doctor.examine import check_environment
    from npuify.doctor.text import render_json
    from npuify.report.doctor import Status as DoctorStatus
    from npuify.rewrite.tree import replace_files

    begins("doctor")
    report = check_environment(project=destination, python=devices.python)
    replace_files(destination / _FOLDER, {"doctor.json": render_json(report).encode()})
    wrong = [one for one in report.results if one.status is DoctorStatus.ERROR]
    stage = Stage(
        "doctor",
        State.FAILED if wrong else State.DONE,
        wrong[0].message if wrong else phrase("This machine is ready."),
        tuple(f"{one.check}: {one.message}" for one in report.results if one.status is DoctorStatus.WARNING),
        files=(str(destination / _FOLDER / "doctor.json"),),
    )
    return stage, decisions.machine(report, commands) if wrong else None


def _accepted(source: Path, destination: Path, asked: PortOptions, begins: Callable[[str], None]) -> AcceptanceReport:
    from pathlib import Path

    from npuify.verify.steps.run import accept

    return accept(
        source,
        migrated=destination,
        entry=asked.entry,
        reference_entry=asked.reference_entry,
        prepare=asked.prepare,
        data=asked.data,
        reference=Path(asked.reference) if asked.reference else None,
        target=asked.target,
        timeout=asked.timeout,
        python=asked.python,
        short=True,
        progress=lambda step: begins(phrase("run: {step}", step=phrase(step))),
    )


def _written(destination: Path, report: AcceptanceReport) -> tuple[str, ...]:
    """The acceptance's own report, where the checklist looks for it."""
    from npuify.rewrite.tree import replace_files
    from npuify.verify.steps import page, text

    files = {"steps.json": text.render_json(report).encode(), "steps.html": page.render_html(report).encode()}
    replace_files(destination / _FOLDER, files)
    return tuple(str(destination / _FOLDER / name) for name in files)


def _ran(report: AcceptanceReport, destination: Path, files: tuple[str, ...]) -> Stage:
    # Of TensorFlow's modules nothing is seen: that the program runs to its end has to do.
    from npuify.verify.steps.text import ran_on

    names = ("iterations",) if report.devices.tensorflow else ("forward", "backward")
    steps = [one for one in report.steps if one.name in names]
    worst = next((one for status in (Status.FAILED, Status.NOT_RUN) for one in steps if one.status is status), steps[0])
    # A program that only infers has no backward pass, and has run all the same.
    state = _STATES[steps[0].status] if worst.status is not Status.FAILED else State.FAILED
    said = worst if state is State.FAILED else steps[0]
    seen = [
        sentences(phrase("{title} {ran}.", title=in_words(one.title), ran=ran_on(one)), in_words(one.message))
        for one in steps
    ]
    return Stage(
        "run",
        state,
        phrase("{message} ({ran})", message=in_words(said.message), ran=ran_on(said)),
        (
            *report.prepared,
            *seen,
            *_release(report, destination),
            *said.evidence,
            *(f"$ {one}" for one in said.commands),
        ),
        said.advice,
        files,
    )


def _release(report: AcceptanceReport, destination: Path) -> list[str]:
    """That another release is simulated than the project was migrated for."""
    from npuify.simulator.aimed import another_release
    from npuify.simulator.tables import release_for

    if report.devices.tensorflow or all(one.where is not Where.SIMULATION for one in report.steps):
        return []
    try:
        simulated = release_for(report.devices.torch)
    except ValueError:
        return []
    told = another_release([destination], simulated)
    return [told] if told else []


def _compared(step: StepResult) -> Stage:
    return Stage(
        "compare",
        _STATES[step.status],
        in_words(step.message),
        tuple(map(in_words, step.evidence)),
        in_words(step.advice),
    )


def handover(source: Path, destination: Path, options: Options, entry: str) -> Stage:
    """The checklist and the guide, from what is known now; ``entry`` is what was run."""
    from npuify.handover import read_record
    from npuify.handover.checklist.pages import in_short, render
    from npuify.handover.checklist.points import checklist
    from npuify.handover.skill.write import write_skill
    from npuify.rewrite.tree import replace_files
    from npuify.verify.steps.plan import filled
    from npuify.verify.steps.start import split

    record = read_record(destination, options, source=source if source.is_dir() else None)
    made = checklist(record)
    folder = destination / _FOLDER
    pages = {f"checklist.{suffix}": render(made, format) for suffix, format in (("html", "html"), ("md", "markdown"))}
    replace_files(folder, {name: text.encode() for name, text in pages.items()})
    files = [str(folder / name) for name in pages]
    told = phrase("Checklist: {states}.", states=in_short(made))
    start = split(entry)
    words = filled(start.words, "npu")
    starts = [shlex.join(["python", *words] if words[0].endswith(".py") else words)] if words else []
    if start.folder:
        starts = [f"cd {shlex.quote(start.folder)} && {one}" for one in starts]
    try:
        written = write_skill(record, folder / "skills", language=spoken(), commands=starts, force=True)
    except NpuifyError as error:
        return Stage(
            "handover",
            State.FAILED,
            phrase("{told} The guide could not be written: {message}", told=told, message=error.message),
            advice=error.advice,
            files=tuple(files),
        )
    files.append(str(written.folder / "SKILL.md"))
    left = tuple(
        f"{phrase(point.state)}: {in_words(point.title)}" for point in made.points if point.state in ("open", "failed")
    )
    return Stage("handover", State.DONE, told, left, files=tuple(files))
