"""How much work a project is: a verdict, what it rests on, and an estimate in hours."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.language import commas, phrase, sentences
from npuify.model import MigrationResult, Safety, ScanResult, Severity, Survey
from npuify.report.verdicts.effort import Estimate, estimate
from npuify.report.verdicts.kernels import NATIVE_OPERATOR, kernel_groups
from npuify.report.verdicts.level_summary import Counts, counted, summary_of
from npuify.report.verdicts.levels import TITLES, kinds, kinds_by_switch, places_of
from npuify.report.verdicts.levels import Blocker as Blocker
from npuify.report.verdicts.levels import Level as Level
from npuify.report.verdicts.levels import Place as Place
from npuify.report.verdicts.packages import WITHOUT_FORM, package
from npuify.report.verdicts.programs import ProgramVerdict, judge_programs, surely_stopping
from npuify.report.verdicts.scope import foreign, has_nothing_to_move, is_aside, is_environment, names_no_device
from npuify.rules.impact import Impact, impact_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from npuify.model import Finding
    from npuify.report.verdicts.scope import Foreign


_NOTHING: Final = "Nothing to migrate"
"""The title where no verdict is called for."""
_ON_THE_CPU: Final = (
    "No code names a GPU: a program that names no device computes on the CPU; npuify migrate --place-on-npu moves its "
    "model, data and losses to an NPU."
)


class Group(msgspec.Struct, frozen=True):
    """Findings that share who has to act on them."""

    count: int
    files: int
    by_code: dict[str, int]
    places: tuple[Place, ...]


class Verdict(msgspec.Struct, frozen=True):
    """The answer to "how much work is it?". Nothing was run to find it."""

    level: Level
    title: str
    summary: str
    """One sentence on what the level rests on."""
    blockers: tuple[Blocker, ...]
    """What has no form for Ascend."""
    deciding: tuple[Blocker, ...]
    """What else costs most, the costliest first: at most ten kinds."""
    conditional: tuple[Blocker, ...]
    """What runs only where an option, variable or constant asks for it: one entry for each of these. None of it
    decides the level."""
    operators: tuple[Blocker, ...]
    """Operators without a kernel in the release, or with limits, the most used first."""
    migrated: Group
    """Edited by the migration; for a scan: what a migration will edit."""
    review: Group
    """An edit is offered, or a warning given; a person decides."""
    manual: Group
    """Will not run before a person has changed it."""
    notes: int
    """Findings that break nothing."""
    estimate: Estimate
    survey: Survey
    programs: tuple[ProgramVerdict, ...] = ()
    """The verdict on each program of the project."""


_MOST_DECIDING: Final = 10
_SUPPORTED_ALREADY: Final = "NPU108"
_JAX: Final = "NPU960"
_UNKNOWN: Final = "NPU191"
"""A place that nothing is known of breaks nothing for sure, and a person has to see whether it does."""
_OPERATORS: Final = frozenset(
    ("NPU410", "NPU411", "NPU414", "NPU417", "NPU418", "NPU420", "NPU421", "NPU422", "NPU504", "NPU510")
)
"""Rules that hold an operator of the program against what the release has."""


def judge(result: ScanResult | MigrationResult) -> Verdict:
    """The verdict on a project that was scanned or migrated."""
    scan, left, done, migrated = _sides(result)
    groups: dict[str, list[Finding]] = {"manual": [], "review": [], "note": []}
    for finding in left:
        groups[status(finding, migrated=True)].append(finding)
    manual, review, notes = groups.values()
    programs = judge_programs(scan, left)
    told = [one for one in manual if one.code != NATIVE_OPERATOR]
    waiting = [one for one in (*told, *review) if not one.only_with]
    stopping = what_stops(manual, scan)
    other = foreign(scan)
    rest = (*_kernels_in_use(scan, programs), *_packages(stopping))
    framework = _foreign(other) if other is None or not other.has_rules else ()
    if any(_JAX in one.what for one in rest):
        # Its programs are told one by one, with what is in them.
        framework = tuple(one for one in framework if one.what not in ("jax", "flax"))
    blockers = rest if other is None or other.has_form else (*framework, *rest)
    deciding = _deciding(waiting, stopping, scan.survey)
    if other is not None and other.has_form:
        deciding = (*framework, *deciding)
    level = Level.BLOCKED if blockers else Level.WORK if stopping or framework else Level.RUNS
    undecided = [one for one in waiting if impact_of(one) is not Impact.GOES_ON and not _decides_nothing(one, scan)]
    if level is Level.RUNS and (
        undecided or scan.errors or _kernels_decide(scan, programs, _kernels(scan.survey)) or other
    ):
        level = Level.REVIEW
    conditional = kinds_by_switch([*told, *review])
    if has_nothing_to_move(scan):
        title = phrase(_NOTHING)
        summary = phrase(
            "Nothing to migrate was found: no file imports PyTorch or another framework that npuify knows."
        )
    else:
        title = phrase(TITLES[level])
        says_level = other is None or other.has_rules or bool(rest or stopping)
        summary = summary_of(level, _counts(scan, blockers, stopping, waiting)) if says_level else ""
        if other is not None:
            summary = f"{_foreign_summary(other)} {summary}".rstrip()
        elif names_no_device(scan):
            summary = f"{_ON_THE_CPU} {summary}"
        summary += _only_with(conditional) + _supported_already(left)
    if scan.narrowed:
        summary = f"{scan.narrowed} {summary}"
    return Verdict(
        level=level,
        title=title,
        summary=summary,
        blockers=blockers,
        deciding=deciding[:_MOST_DECIDING],
        conditional=conditional,
        operators=_operators(left),
        migrated=migrated,
        review=_group(review),
        manual=_group(manual),
        notes=len(notes),
        estimate=estimate(scan, left, done),
        survey=scan.survey,
        programs=programs,
    )


def _sides(result: ScanResult | MigrationResult) -> tuple[ScanResult, list[Finding], list[Finding], Group]:
    """The scan, what is left to a person, what npuify migrates or has migrated, and the latter in numbers."""
    if isinstance(result, ScanResult):
        sides: dict[bool, list[Finding]] = {True: [], False: []}
        for finding in result.findings:
            sides[status(finding, migrated=False) == "migrated"].append(finding)
        return result, sides[False], sides[True], _group(sides[True])
    places = tuple(sorted({Place(change.file, change.start.line) for change in result.changes}))
    codes = Counter(change.code for change in result.changes)
    migrated = Group(len(result.changes), len({place.file for place in places}), dict(sorted(codes.items())), places)
    return result.scan, list(result.left), _done(result), migrated


def _kernels_in_use(scan: ScanResult, programs: Sequence[ProgramVerdict]) -> tuple[Blocker, ...]:
    """The project's own CUDA kernels: where its programs are known, those that one of them needs."""
    kernels = _kernels(scan.survey)
    if not scan.programs:
        return kernels
    return tuple(one for one in kernels if any(one in program.blockers for program in programs))


def _counts(
    scan: ScanResult, blockers: Sequence[Blocker], stopping: Sequence[Finding], waiting: Sequence[Finding]
) -> Counts:
    """What the summary counts. What stops a program or lies beside all of them is not to be reviewed as well."""
    beside = [one for one in waiting if _lies_beside(one, scan)]
    known = {id(one) for one in (*stopping, *beside)}
    to_review = [one for one in waiting if id(one) not in known]
    unsafe = sum(one.severity is Severity.ERROR and one.safety is Safety.REVIEW for one in to_review)
    return Counts(
        len(blockers),
        len(stopping),
        len(beside),
        len(to_review),
        len(scan.errors),
        unsafe,
        len(scan.survey.kernels),
    )


def status(finding: Finding, *, migrated: bool) -> str:
    """Who has to act on a finding: ``migrated`` (npuify), ``review`` or ``manual`` (a person), or ``note`` (nobody).

    Args:
        migrated: whether safe edits have been made already, so that all that is left is left to a person.
    """
    if finding.edits and finding.safety is Safety.SAFE and not migrated:
        return "migrated"
    if finding.code == _UNKNOWN:
        return "review"
    if finding.severity is Severity.ERROR and finding.safety is not Safety.REVIEW:
        return "manual"
    return "note" if finding.severity is Severity.INFO and not finding.edits else "review"


def what_stops(manual: Iterable[Finding], scan: ScanResult) -> list[Finding]:
    """Of the findings that a person has to act on, those that stop a program: the ones that a summary counts.

    Left out is what only an option asks for, what lies beside the programs, and what nobody knows any of them to come
    to. Operators are told of by extension, with their kernels.
    """
    left = (
        one for one in manual if one.code != NATIVE_OPERATOR and not (one.only_with or is_aside(one.file, scan.survey))
    )
    return surely_stopping(left, scan)


def _lies_beside(finding: Finding, scan: ScanResult) -> bool:
    """Whether a finding is outside of the programs: in tests and the like, or in what they are installed with."""
    if is_aside(finding.file, scan.survey):
        return True
    return bool(scan.programs) and is_environment(finding)


def _decides_nothing(finding: Finding, scan: ScanResult) -> bool:
    """Whether the programs are judged without a finding. Where none is known, all of the project may be one."""
    return bool(scan.programs) and _lies_beside(finding, scan)


def by_status(findings: Iterable[Finding], *, migrated: bool) -> dict[str, Counter[str]]:
    """Of each code, how many of its findings are whose to act on, as :func:`status` tells it."""
    counts: dict[str, Counter[str]] = {}
    for one in findings:
        counts.setdefault(one.code, Counter())[status(one, migrated=migrated)] += 1
    return counts


def in_a_line(verdict: Verdict) -> str:
    """The verdict with what it rests on."""
    return sentences(phrase("{title}.", title=phrase(verdict.title)), phrase(verdict.summary))


def hours(value: Estimate) -> str:
    """ "12 hours (4 to 31)", or "0 hours"."""
    if not value.high:
        return phrase("0 hours")
    likely, low, high = f"{value.likely:g}", f"{value.low:g}", f"{value.high:g}"
    if value.likely == 1:
        return phrase("{likely} hour ({low} to {high})", likely=likely, low=low, high=high)
    return phrase("{likely} hours ({low} to {high})", likely=likely, low=low, high=high)


def _done(result: MigrationResult) -> list[Finding]:
    """The findings of the source whose code was edited in their file, as far as the output has none of them left."""
    edited = {(change.file, change.code) for change in result.changes}
    return [one for one in result.scan.findings if one.edits and (one.file, one.code) in edited]


def _group(findings: Sequence[Finding]) -> Group:
    return Group(
        len(findings),
        len({finding.file for finding in findings}),
        dict(sorted(Counter(finding.code for finding in findings).items())),
        places_of(findings),
    )


def _kernels(survey: Survey) -> tuple[Blocker, ...]:
    return tuple(
        Blocker(
            group.what,
            group.why,
            group.advice,
            tuple(sorted({Place(file, int(line)) for file, _, line in (one.rpartition(":") for one in group.places)})),
        )
        for group in kernel_groups(survey)
    )


def _kernels_decide(scan: ScanResult, programs: Sequence[ProgramVerdict], kernels: Sequence[Blocker]) -> bool:
    """Whether the project's own CUDA code may stop a program, where it is known to stop none.

    It may not where Python calls every operator, and each call is out of every program's way: in what a program goes on
    without, behind an option, in tests.
    """
    if not scan.survey.kernels:
        return False
    without = [one for one in scan.survey.operators if one.difficulty != "host" and not one.has_npu]
    if not programs or not without or not all(one.calls for one in without):
        return True
    return any(one in program.deciding for program in programs for one in kernels)


def _packages(findings: Iterable[Finding]) -> tuple[Blocker, ...]:
    """What has no form for Ascend, one entry a package, wherever it is asked for, imported or used."""
    return kinds(one for one in findings if one.code in WITHOUT_FORM)


def _deciding(findings: Sequence[Finding], stopping: Iterable[Finding], survey: Survey) -> tuple[Blocker, ...]:
    """What costs most, without the packages that block; what the program runs without comes last."""
    blocking = {package(one) for one in stopping if one.code in WITHOUT_FORM}
    waiting = [one for one in findings if one.code not in WITHOUT_FORM or package(one) not in blocking]
    sides: dict[bool, list[Finding]] = {False: [], True: []}
    for one in waiting:
        sides[is_aside(one.file, survey)].append(one)
    program = kinds(sides[False])
    known = {one.what for one in program}
    return (*program, *(one for one in kinds(sides[True]) if one.what not in known))


def _only_with(conditional: Sequence[Blocker]) -> str:
    """What else must be looked at before a program is started with its switches."""
    if not conditional:
        return ""
    names = [one.what for one in conditional]
    shown = commas(names[:3]) + (phrase(" and {value} more", value=len(names) - 3) if len(names) > 3 else "")
    places = sum(len(one.places) for one in conditional)
    return phrase(
        " {count_} only with {shown}.", count_=counted(places, "more place matters", "more places matter"), shown=shown
    )


def _operators(findings: Iterable[Finding]) -> tuple[Blocker, ...]:
    """One entry for each operator, of any severity: one that runs on the CPU breaks nothing, and decides the speed."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.code in _OPERATORS:
            groups.setdefault(finding.subject or finding.name, []).append(finding)
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(Blocker(name, group[0].message, group[0].advice, places_of(group)) for name, group in ordered)


def _supported_already(left: Iterable[Finding]) -> str:
    for one in left:
        if one.code == _SUPPORTED_ALREADY and one.subject.startswith("stack: "):
            return phrase(
                " The project knows the NPU by itself, as its releases show: take the versions and settings told at "
                "{file}:{line}, and run it unchanged first.",
                file=one.file,
                line=one.start.line,
            )
        if one.code == _SUPPORTED_ALREADY:
            return phrase(
                " The project already checks for an NPU ({file}:{line}): run it unchanged first.",
                file=one.file,
                line=one.start.line,
            )
    return ""


def _foreign_summary(other: Foreign) -> str:
    imports = counted(other.files, "file imports", "files import")
    return phrase(
        "The project is based on {name} ({imports} it). {why}", name=other.name, imports=imports, why=other.why
    )


def _foreign(other: Foreign | None) -> tuple[Blocker, ...]:
    if other is None:
        return ()
    file, _, line = other.first.rpartition(":")
    return (Blocker(other.name, other.why, other.advice, (Place(file, int(line)),)),)
