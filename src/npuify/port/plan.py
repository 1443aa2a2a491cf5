"""What to do next with a project, in order, each step with its codes, its places and the command that does it."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.engine.scan import scan
from npuify.handover import read_record
from npuify.handover.checklist.points import checklist
from npuify.handover.checklist.record import REPORT_FOLDER
from npuify.language import phrase, sentences, told
from npuify.model import NpuifyError
from npuify.report.summary import counted
from npuify.report.verdicts.scope import has_nothing_to_move, names_no_device
from npuify.report.verdicts.verdict import hours, in_a_line, judge, status
from npuify.verify.steps.plan import make_plan
from npuify.verify.steps.start import in_a_line as in_one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from npuify.handover import Checklist
    from npuify.model import Finding, ScanResult
    from npuify.options import Options
    from npuify.report.verdicts.verdict import Verdict

    Progress = Callable[[int, int], None]

_PLACES: Final = 20
_PLACE: Final = "{file}:{line}"


class Step(msgspec.Struct, frozen=True):
    """One thing to do."""

    name: str
    """``nothing-to-do``, ``blocker``, ``no-device``, ``migrate``, ``review``, ``by-hand``, ``run``, ``machine`` or
    ``checklist``."""
    what: str
    codes: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    """The first ones, as ``FILE:LINE``."""
    more: int = 0
    """Places beyond these."""
    advice: str = ""
    command: str = ""
    """What does it, or shows it; empty where a person changes code."""


class Plan(msgspec.Struct, frozen=True):
    """What there is to do."""

    migrated: bool
    """Whether npuify has migrated the project already."""
    verdict: str
    estimate: str
    steps: tuple[Step, ...]


def plan(
    project: Path, options: Options, *, progress: Progress | None = None, preparing: Progress | None = None
) -> Plan:
    """What to do next with a project, before its migration or after.

    Args:
        project: the original, or a migrated copy with its ``npuify-report/``. Nothing is written.
        options: of the scan.
        progress: called with the number of files done and of files to do.
        preparing: the same while files are read, before any is analysed; 0 of 0 while they are sought.

    Raises:
        NpuifyError: the project cannot be read.
    """
    if (project / REPORT_FOLDER / "findings.json").is_file():
        record = read_record(project, options, progress=progress, preparing=preparing)
        verdict = judge(record.scan)
        steps = (*_left(record.scan, migrated=True), *_open(checklist(record), str(project)))
        return Plan(True, in_a_line(verdict), hours(verdict.estimate), steps)
    found = scan([project], options, progress=progress, preparing=preparing)
    verdict = judge(found)
    return Plan(False, in_a_line(verdict), hours(verdict.estimate), tuple(_before(project, found, verdict)))


def _before(project: Path, found: ScanResult, verdict: Verdict) -> Iterator[Step]:
    source, copy = str(project), f"{project}_npu"
    if has_nothing_to_move(found):
        yield Step("nothing-to-do", phrase("Nothing to migrate was found: name the project's own folder."))
        return
    for one in verdict.blockers:
        places = [_PLACE.format(file=place.file, line=place.line) for place in one.places]
        shown, more = _cut(places)
        yield Step(
            "blocker",
            phrase("Decide what becomes of {what}: {why}", what=one.what, why=one.why),
            (),
            shown,
            more,
            one.advice,
        )
    more_options = []
    if names_no_device(found):
        more_options.append("--place-on-npu")
        files, more = _cut([one.file for one in found.survey.entry_points])
        what = phrase("No code names a GPU: decide whether model, data and losses are moved to the NPU.")
        yield Step("no-device", what, (), files, more, command=_line("migrate", source, "--diff", *more_options))
    made = [one for one in found.findings if status(one, migrated=False) == "migrated"]
    codes = tuple(code for code, _ in Counter(one.code for one in made).most_common())
    what = phrase(
        "Migrate a copy: {places} {value} edited by proof.",
        places=counted(len(made), "place"),
        value="is" if len(made) == 1 else "are",
    )
    yield Step("migrate", what, codes, command=_line("migrate", source, "-o", copy, *more_options))
    yield from _left(found, migrated=False)
    points = found.survey.entry_points
    shown, more = _cut([one.file for one in points if one.file.endswith(".py")])
    try:
        found_plan = make_plan(project, points)
        entry = in_one_line(found_plan.entry, found_plan.folder)
    except NpuifyError:
        entry = "PROGRAM ARGUMENTS"
    yield Step(
        "run",
        phrase(
            "Run some steps of the copy, on an NPU or simulated, and compare them with the original. It runs their "
            "code."
        ),
        (),
        shown,
        more,
        phrase("Give the program arguments for a short run."),
        _line("verify", "steps", source, "--migrated", copy, "--short", "--entry", entry),
    )
    yield Step("machine", phrase("On the Ascend machine, check that it is ready."), command="npuify doctor")
    yield Step("checklist", phrase("Go through what is left, with its evidence."), command=_line("checklist", copy))


def _left(found: ScanResult, *, migrated: bool) -> Iterator[Step]:
    """What a person has to look at or change: by code, what stops the program first, and what most places share."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for one in found.findings:
        who = status(one, migrated=migrated)
        if who in ("manual", "review"):
            groups.setdefault((who, one.only_with, one.code), []).append(one)
    ordered = sorted(groups.items(), key=lambda item: (bool(item[0][1]), item[0][0] != "manual", -len(item[1])))
    for (who, only_with, code), group in ordered:
        first, offered = group[0], sum(bool(one.edits) for one in group)
        shown, more = _cut(_in_order(group))
        only = phrase(" (only with {only_with})", only_with=only_with) if only_with else ""
        if offered and who == "review":
            what = phrase(
                "Look at {edits} of {name}{only}: {message}",
                edits=counted(offered, "edit"),
                name=first.name,
                only=only,
                message=first.message,
            )
            command = "" if migrated else _line("migrate", found.root, "--diff", "--unsafe")
        else:
            said = {"name": first.name, "only": only, "message": first.message}
            what = (
                phrase("Change {name}{only}: {message}", **said)
                if who == "manual"
                else phrase("Look at {name}{only}: {message}", **said)
            )
            command = ""
        yield Step(
            "by-hand" if who == "manual" else "review",
            what,
            (code,),
            shown,
            more,
            first.advice,
            command or _line("explain", code),
        )


def _open(made: Checklist, project: str) -> Iterator[Step]:
    for point in made.points:
        if point.group != "code" and point.state in ("open", "failed", "not done"):
            yield Step(
                "checklist",
                sentences(
                    phrase("{title}: {state}.", title=told(point.title), state=phrase(point.state)),
                    told(point.evidence),
                ),
                advice=point.how,
            )
    yield Step("checklist", phrase("Go through what is left, with its evidence."), command=_line("checklist", project))


def _in_order(findings: Iterable[Finding]) -> list[str]:
    places = sorted({(one.file, one.start.line) for one in findings})
    return [_PLACE.format(file=file, line=line) for file, line in places]


def _cut(places: Sequence[str]) -> tuple[tuple[str, ...], int]:
    return tuple(places[:_PLACES]), max(len(places) - _PLACES, 0)


def _line(*words: str) -> str:
    return shlex.join(["npuify", *words])
