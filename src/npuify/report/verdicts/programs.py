"""The verdict on each program of a project: an entry point with what it imports, started with its default options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from npuify.language import listed, phrase, plural, sentences
from npuify.model import Safety, Severity, Start
from npuify.report.verdicts.kernels import NATIVE_OPERATOR, kernel_groups
from npuify.report.verdicts.levels import TITLES, Blocker, Level, Place, kinds, kinds_by_switch
from npuify.report.verdicts.packages import WITHOUT_FORM
from npuify.rules.impact import Impact, impact_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from npuify.model import Finding, Program, ScanResult


_OF_THE_START: Final = frozenset(("NPU910", "NPU929"))
"""What is said of a file as a program that is started, and of nothing that imports it."""
_NOT_PROCESSED: Final = "This file could not be processed."


class ProgramVerdict(msgspec.Struct, frozen=True):
    """The verdict on one program."""

    file: str
    """Its entry point."""
    level: Level
    title: str
    summary: str
    blockers: tuple[Blocker, ...]
    """What has no form for Ascend and lies on its path."""
    deciding: tuple[Blocker, ...]
    """What else stops it, or may: where nothing is here, nothing is unknown."""
    conditional: tuple[Blocker, ...]
    """What runs only where an option, variable or constant asks for it: one entry for each of these."""
    starts: tuple[Start, ...] = ()
    """What to say to a program so that it runs on an NPU, where it would not without being told."""


def judge_programs(scan: ScanResult, left: Sequence[Finding]) -> tuple[ProgramVerdict, ...]:
    """The verdicts on the programs of a project.

    Args:
        scan: of the original.
        left: what is left to a person; of a scan, what a migration would leave.
    """
    by_file: dict[str, list[Finding]] = {}
    for one in left:
        if impact_of(one) is not Impact.GOES_ON and one.code != NATIVE_OPERATOR:
            by_file.setdefault(one.file, []).append(one)
    kernels, waiting = _kernels(scan), _switches(scan)
    return tuple(_program(program, by_file, kernels, waiting, scan) for program in scan.programs)


def surely_stopping(findings: Iterable[Finding], scan: ScanResult) -> list[Finding]:
    """Those of some findings to whose places a program surely comes. Where no program is known, any may."""
    if not scan.programs:
        return list(findings)
    reaches = [(frozenset(program.files), frozenset(program.unsure)) for program in scan.programs]
    return [
        one for one in findings if any(one.file in files and not _is_unsure(one, unsure) for files, unsure in reaches)
    ]


def _is_unsure(finding: Finding, unsure: frozenset[tuple[str, int]]) -> bool:
    """Whether of none of a finding's places is known that the program comes there."""
    return all((finding.file, place.line) in unsure for place in finding.places)


def _program(
    program: Program,
    told: Mapping[str, Sequence[Finding]],
    kernels: Sequence[Blocker],
    waiting: Mapping[Place, str],
    scan: ScanResult,
) -> ProgramVerdict:
    by_file = {file: list(_said_of(program, file, told.get(file, ()))) for file in (*program.files, *program.maybe)}
    reached = [one for file in program.files for one in by_file.get(file, ())]
    on_path = [one for one in reached if not one.only_with]
    stops = [one for one in on_path if impact_of(one) is Impact.STOPS]
    without_form = [one for one in stops if one.code in WITHOUT_FORM]
    # What stands where nobody knows whether the program comes there decides, and is not said to stop it.
    unsure = frozenset(program.unsure)
    surely = [one for one in stops if one.code not in WITHOUT_FORM and not _is_unsure(one, unsure)]
    reaching = [one for one in kernels if any(place.line and place.file in program.files for place in one.places)]
    called = [one for one in reaching if _is_called(one, program.files, waiting)]
    blockers = (*called, *kinds(without_form))
    rest = [one for one in on_path if one.code not in WITHOUT_FORM or impact_of(one) is not Impact.STOPS]
    perhaps_reached = [one for file in program.maybe for one in by_file.get(file, ())]
    rest += [one for one in perhaps_reached if not one.only_with]
    files = [Place(one.file, one.line) for one in scan.errors if one.file in (*program.files, *program.maybe)]
    deciding = (*kinds(rest), *(Blocker(place.file, _NOT_PROCESSED, "", (place,)) for place in files))
    perhaps = [one for one in kernels if one not in called and _is_called(one, program.maybe, waiting)]
    deciding = (*deciding, *perhaps)
    if not any(place.line for one in kernels for place in one.places):
        # Nobody was found to call the project's kernels; the program may.
        deciding = (*deciding, *kernels)
    level = Level.BLOCKED if blockers else Level.WORK if surely else Level.REVIEW if deciding else Level.RUNS
    counts = _Counts(
        len(blockers),
        len(surely),
        sum(len(one.places) for one in deciding),
        # Of a program that handles NPUs by itself, nobody knows whether they come there.
        sum(
            one.severity is Severity.ERROR and one.safety is Safety.REVIEW and not program.supports_npu for one in rest
        ),
    )
    behind = [
        msgspec.structs.replace(one, only_with=one.only_with or why)
        for file, why in program.aside
        for one in _said_of(program, file, told.get(file, ()))
    ]
    conditional = kinds_by_switch([*(one for one in (*reached, *perhaps_reached) if one.only_with), *behind])
    asides = dict(program.aside)
    for kernel in kernels:
        why = next((asides[place.file] for place in kernel.places if place.file in asides), "")
        why = why or next((waiting[place] for place in kernel.places if place in waiting and kernel in reaching), "")
        if why and kernel not in called and kernel not in perhaps:
            conditional = (*conditional, Blocker(why, kernel.what, kernel.advice, kernel.places))
    summary = _summary(level, counts)
    if program.supports_npu:
        summary = sentences(_how_to_start(program), summary)
    elif program.starts:
        first = program.starts[0]
        used = phrase(
            "Start it with {say}: without it, {without} ({file}:{line}).",
            say=first.say,
            without=first.without,
            file=first.file,
            line=first.line,
        )
        summary = sentences(used, summary)
    return ProgramVerdict(
        program.file, level, phrase(TITLES[level]), summary, blockers, deciding, conditional, program.starts
    )


def _said_of(program: Program, file: str, findings: Sequence[Finding]) -> Sequence[Finding]:
    """The findings of a file that hold for a program: what is said of another program's start does not."""
    return findings if file == program.file else [one for one in findings if one.code not in _OF_THE_START]


def _is_called(kernel: Blocker, files: Sequence[str], waiting: Mapping[Place, str]) -> bool:
    """Whether one of some files calls a kernel without being asked to."""
    return any(place.line and place.file in files and place not in waiting for place in kernel.places)


def _how_to_start(program: Program) -> str:
    """How a program that supports an NPU by itself is started on one, and what its defaults do."""
    own = phrase("It supports an NPU by itself")
    if not program.starts:
        return phrase("{own}; no option or variable was found that chooses one.", own=own)
    said = listed(dict.fromkeys(one.say for one in program.starts))
    left = [one for one in program.starts if one.without]
    if not left:
        return phrase("{own}, and chooses it by default ({said}).", own=own, said=said)
    first = left[0]
    return phrase(
        "{own}: start it with {said}. Without {say}, {without} ({file}:{line}).",
        own=own,
        said=said,
        say=first.say,
        without=first.without,
        file=first.file,
        line=first.line,
    )


class _Counts(NamedTuple):
    blockers: int
    stops: int
    deciding: int
    errors: int
    """Of ``deciding`` those that will not run as they are."""


def _summary(level: Level, counts: _Counts) -> str:
    if level is Level.BLOCKED:
        return plural(
            "{count} dependency has no Ascend version.",
            "{count} dependencies have no Ascend version.",
            counts.blockers,
        )
    if level is Level.WORK:
        return plural(
            "{count} place will not run until you change it.",
            "{count} places will not run until you change them.",
            counts.stops,
        )
    if level is Level.REVIEW:
        more = (
            phrase("; {errors} will not run without the edit that is offered", errors=counts.errors)
            if counts.errors
            else ""
        )
        return plural(
            "{count} place decides whether it runs{more}.",
            "{count} places decide whether it runs{more}.",
            counts.deciding,
            more=more,
        )
    return phrase("No known problem stops it. Only a run on the NPU proves it.")


def _switches(scan: ScanResult) -> dict[Place, str]:
    """The calls of the project's own CUDA operators that do not run by default, each with what it waits for."""
    switched = [one for operator in scan.survey.operators for one in operator.switched]
    parts = [(*place.rpartition(":")[::2], switch) for place, switch in switched]
    return {Place(file, int(line)): switch for file, line, switch in parts}


def _kernels(scan: ScanResult) -> tuple[Blocker, ...]:
    return tuple(
        Blocker(
            group.what,
            group.why,
            group.advice,
            tuple(sorted({Place(file, int(line)) for file, _, line in (one.rpartition(":") for one in group.places)})),
        )
        for group in kernel_groups(scan.survey)
    )
