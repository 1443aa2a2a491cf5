"""``npuify port``: the stages, in order, up to the first thing that only a person can decide."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from npuify.language import commas, phrase
from npuify.model import NpuifyError
from npuify.port import decisions, running
from npuify.port.decisions import Commands
from npuify.port.model import VERSION, Decision, PortOptions, PortReport, Stage, State
from npuify.report import printable
from npuify.report.in_language import as_json
from npuify.report.summary import counted
from npuify.report.verdicts.scope import is_for_tensorflow
from npuify.report.verdicts.verdict import hours, in_a_line, judge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from npuify.model import EntryPoint, ScanResult
    from npuify.options import Options
    from npuify.report.verdicts.verdict import Verdict

    Begins = Callable[[str], None]
    Ends = Callable[[Stage], None]
    Progress = Callable[[int, int], None]

FOLDER: Final = "npuify-report"
REPORT: Final = "port.json"
_OF_THE_MIGRATION: Final = ("style", "torch_npu", "soc", "unsafe", "place_on_npu", "replace_kernels")


class _Way(NamedTuple):
    """What every stage is given."""

    source: Path
    destination: Path
    options: Options
    asked: PortOptions
    commands: Commands
    begins: Begins
    ends: Ends
    preparing: Progress | None
    progress: Progress | None


class _Migrated(NamedTuple):
    """What there is once the copy has been written."""

    stages: Sequence[Stage]
    decision: Decision | None
    points: Sequence[EntryPoint]


def port(
    source: Path,
    destination: Path,
    options: Options,
    asked: PortOptions,
    *,
    resume: bool = False,
    force: bool = False,
    begins: Begins = lambda _: None,
    ends: Ends = lambda _: None,
    preparing: Progress | None = None,
    progress: Progress | None = None,
) -> PortReport:
    """Take a project the whole way. Its code is run, in copies, once it has been migrated.

    Args:
        source: the original, for CUDA: its folder, or one program. It is not changed.
        destination: the folder for the migrated copy, with ``npuify-report/`` in it.
        options: of scan and migration.
        asked: what was said by the user; what was said earlier holds too where it is gone on.
        resume: go on with the copy that is in ``destination``, which a person may have changed.
        force: replace a destination that is not empty.
        begins: called with the name of each stage before it runs, and with what it is at.
        ends: called with each stage after it.
        preparing: called with the number of files read and of files to read, 0 of 0 while they are sought.
        progress: the same for files scanned or migrated.

    Raises:
        NpuifyError: wrong use, or nothing can be read or written.
    """
    if resume and force:
        raise NpuifyError("--force migrates anew, --resume goes on: choose one")
    if resume:
        asked = _resumed(source, destination, asked)
    commands = Commands(source, destination, asked)
    stages: list[Stage] = []

    def told(stage: Stage) -> None:
        stages.append(stage)
        ends(stage)

    if not resume:
        _check(source, destination, commands, force=force)
    way = _Way(source, destination, options, asked, commands, begins, told, preparing, progress)
    migrated = _again(way) if resume else _migrate(way, force=force)
    decision = migrated.decision
    if decision is None:
        decision, entry = running.run(source, destination, asked, migrated.points, commands, begins, told)
        if decision is None or decision.about in decisions.AFTER_A_RUN:
            begins("handover")
            told(running.handover(source, destination, options, entry))
    report = PortReport(VERSION, str(source), str(destination), tuple(stages), decision, asked)
    if (destination / FOLDER).is_dir():
        _save(report, destination / FOLDER / REPORT)
    return report


def _check(source: Path, destination: Path, commands: Commands, *, force: bool) -> None:
    """Nothing is scanned for long where the end is known."""
    from npuify.rewrite.tree import check_destination

    if not source.exists():
        raise NpuifyError("there is no such file or folder", file=str(source))
    if (destination / FOLDER / REPORT).is_file() and not force:
        raise NpuifyError(
            "has been migrated already",
            advice=phrase("go on with: {resume}\n  or migrate anew with --force", resume=commands.resume()),
            file=str(destination),
        )
    check_destination(source, destination, force=force)


def _resumed(source: Path, destination: Path, asked: PortOptions) -> PortOptions:
    """What was asked for then, with what is asked for now."""
    path = destination / FOLDER / REPORT
    try:
        before = msgspec.json.decode(path.read_bytes(), type=PortReport)
    except (OSError, msgspec.MsgspecError) as error:
        raise NpuifyError(
            "there is nothing to go on with here",
            advice=phrase("start with: npuify port {source} -o {destination}", source=source, destination=destination),
            file=str(destination),
        ) from error
    nothing = PortOptions()
    now = {
        name: getattr(asked, name)
        for name in PortOptions.__struct_fields__
        if getattr(asked, name) != getattr(nothing, name)
    }
    late = [name for name in _OF_THE_MIGRATION if name in now and now[name] != getattr(before.asked, name)]
    if late:
        raise NpuifyError(
            phrase("--{late} decides how to migrate, and that has been done", late=late[0].replace("_", "-")),
            advice="migrate anew with --force instead of --resume",
        )
    return msgspec.structs.replace(before.asked, **now)


def _migrate(way: _Way, *, force: bool) -> _Migrated:
    """Scan the source, and migrate it where nothing has to be decided first."""
    from npuify.engine.scan import scan
    from npuify.migration import migrate

    way.begins("scan")
    found = scan([way.source], way.options, progress=way.progress, preparing=way.preparing)
    verdict = judge(found)
    scanned = _scanned(found, verdict)
    way.ends(scanned)
    points = found.survey.entry_points
    decision = decisions.before_migration(found, verdict, way.asked, way.commands)
    if decision is not None:
        return _Migrated([scanned], decision, points)
    way.begins("migrate")
    result = migrate(
        way.source, way.destination, way.options, force=force, progress=way.progress, preparing=way.preparing
    )
    after = judge(result)
    stage = Stage(
        "migrate",
        State.DONE,
        phrase(
            "{edits} in {files}, {findings} left.",
            edits=counted(len(result.changes), "edit"),
            files=counted(len(result.changed_files), "file"),
            findings=counted(len(result.left), "finding"),
        ),
        (in_a_line(after),),
        files=(str(way.destination), str(way.destination / FOLDER / "report.html")),
    )
    way.ends(stage)
    return _Migrated(
        [scanned, stage], decisions.by_hand(result.left, result.scan, after, way.asked, way.commands), points
    )


def _again(way: _Way) -> _Migrated:
    """Look at the migrated copy as it is now."""
    from npuify.handover import read_record

    way.begins("scan")
    source = way.source if way.source.is_dir() else None
    found = read_record(way.destination, way.options, source=source).scan
    verdict = judge(found)
    stage = _scanned(found, verdict)
    way.ends(stage)
    decision = decisions.by_hand(found.findings, found, verdict, way.asked, way.commands)
    return _Migrated([stage], decision, found.survey.entry_points)


def _scanned(found: ScanResult, verdict: Verdict) -> Stage:
    target = phrase(
        "Target: torch_npu {torch_npu}: {reason}.", torch_npu=found.release.torch_npu, reason=found.release.reason
    )
    if is_for_tensorflow(found):
        target = phrase("Target: {target}.", target=found.tensorflow.rstrip("."))
    evidence = [target]
    if found.survey.entry_points:
        evidence.append(
            phrase(
                "Entry points: {entry_points}", entry_points=commas(one.file for one in found.survey.entry_points[:5])
            )
        )
    evidence.append(phrase("Estimate: {hours} for one person", hours=hours(verdict.estimate)))
    evidence += [f"{error.file}: {error.message}" for error in found.errors[:5]]
    return Stage("scan", State.DONE, in_a_line(verdict), tuple(evidence))


def _save(report: PortReport, path: Path) -> None:
    from npuify.rewrite.tree import replace_files

    replace_files(path.parent, {path.name: render_json(report).encode()})


def render_json(report: PortReport) -> str:
    """The report as JSON; ``version`` says which form."""
    return printable(as_json(report))


def schema() -> str:
    """The JSON Schema of ``npuify port --format json``."""
    from npuify.report.schemas import schema_of

    return schema_of(PortReport, "port", VERSION, "How far npuify port came with a project")
