"""How much work a project is: a verdict, what it rests on, and an estimate in hours."""

from __future__ import annotations

from collections import Counter
from enum import Enum
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.model import MigrationResult, Safety, ScanResult, Severity, Survey
from npuify.report.effort import Estimate, estimate, first_place
from npuify.report.kernels import NATIVE_OPERATOR, kernel_groups

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from npuify.model import Finding


class Level(str, Enum):
    """The verdicts, from the best to the worst."""

    RUNS = "runs"
    """Runs after migration, for all that can be seen without running it."""
    REVIEW = "review"
    """A person has to look at some places; none is known to stop the program."""
    WORK = "work"
    """Some places will not run before a person has changed them."""
    BLOCKED = "blocked"
    """Something has no form for Ascend, and has to be written or replaced first."""


TITLES: Final = {
    Level.RUNS: "Runs after migration",
    Level.REVIEW: "Needs review",
    Level.WORK: "Needs work",
    Level.BLOCKED: "Blocked",
}


class Place(msgspec.Struct, frozen=True, order=True):
    """A place in the project. ``line`` is 0 where a whole file is meant."""

    file: str
    line: int


class Blocker(msgspec.Struct, frozen=True):
    """One thing that decides the verdict: a kernel, a package, or a name with no counterpart."""

    what: str
    why: str
    advice: str
    places: tuple[Place, ...]


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


_MOST_DECIDING: Final = 10
_BLOCKING_AREA: Final = "NPU6"
"""Packages and extensions: where these have no form for Ascend, nothing that needs them can run."""
_OPERATORS: Final = frozenset(
    ("NPU410", "NPU411", "NPU414", "NPU417", "NPU418", "NPU420", "NPU421", "NPU422", "NPU504", "NPU510")
)
"""Rules that hold an operator of the program against what the release has."""


def judge(result: ScanResult | MigrationResult) -> Verdict:
    """The verdict on a project that was scanned or migrated."""
    if isinstance(result, ScanResult):
        scan = result
        sides: dict[bool, list[Finding]] = {True: [], False: []}
        for finding in scan.findings:
            sides[status(finding, migrated=False) == "migrated"].append(finding)
        done, left = sides[True], sides[False]
        migrated = _group(done)
    else:
        scan, left = result.scan, list(result.left)
        done = _done(result)
        places = tuple(sorted({Place(change.file, change.start.line) for change in result.changes}))
        codes = Counter(change.code for change in result.changes)
        migrated = Group(
            len(result.changes), len({place.file for place in places}), dict(sorted(codes.items())), places
        )
    groups: dict[str, list[Finding]] = {"manual": [], "review": [], "note": []}
    for finding in left:
        groups[status(finding, migrated=True)].append(finding)
    manual, review, notes = groups.values()
    # Operators are told of by extension, with their kernels.
    beside = [one for one in manual if _is_beside(one.file, scan.survey)]
    inside = [one for one in manual if not _is_beside(one.file, scan.survey)]
    blocking = [one for one in inside if one.code.startswith(_BLOCKING_AREA) and one.code != NATIVE_OPERATOR]
    blockers = (*_kernels(scan.survey), *_kinds(blocking))
    deciding = _kinds([*beside, *(one for one in (*inside, *review) if not one.code.startswith(_BLOCKING_AREA))])
    level = Level.BLOCKED if blockers else Level.WORK if inside else Level.RUNS
    if level is Level.RUNS and (manual or review or scan.errors):
        level = Level.REVIEW
    return Verdict(
        level=level,
        title=TITLES[level],
        summary=_summary(level, len(blockers), inside, [*beside, *review], len(scan.errors)),
        blockers=blockers,
        deciding=deciding[:_MOST_DECIDING],
        operators=_operators(left),
        migrated=migrated,
        review=_group(review),
        manual=_group(manual),
        notes=len(notes),
        estimate=estimate(scan, left, done),
        survey=scan.survey,
    )


def status(finding: Finding, *, migrated: bool) -> str:
    """Who has to act on a finding: ``migrated`` (npuify), ``review`` or ``manual`` (a person), or ``note`` (nobody).

    Args:
        migrated: whether safe edits have been made already, so that all that is left is left to a person.
    """
    if finding.edits and finding.safety is Safety.SAFE and not migrated:
        return "migrated"
    if finding.severity is Severity.ERROR and finding.safety is not Safety.REVIEW:
        return "manual"
    return "note" if finding.severity is Severity.INFO and not finding.edits else "review"


def hours(value: Estimate) -> str:
    """ "12 hours (4 to 31)"."""
    unit = "hour" if value.likely == 1 else "hours"
    return f"{value.likely:g} {unit} ({value.low:g} to {value.high:g})"


def _is_beside(file: str, survey: Survey) -> bool:
    """Whether the program runs without a file: what sets up CI and editors, and notebooks where there are programs."""
    parts = file.split("/")
    if any(part.startswith(".") for part in parts[:-1]) or parts[-1].startswith((".gitlab-ci", "azure-pipelines")):
        return True
    notebooks = (".ipynb",)
    return file.endswith(notebooks) and any(not one.file.endswith(notebooks) for one in survey.entry_points)


def _done(result: MigrationResult) -> list[Finding]:
    """The findings of the source whose code was edited in their file, as far as the output has none of them left."""
    edited = {(change.file, change.code) for change in result.changes}
    return [one for one in result.scan.findings if one.edits and (one.file, one.code) in edited]


def _group(findings: Sequence[Finding]) -> Group:
    return Group(
        len(findings),
        len({finding.file for finding in findings}),
        dict(sorted(Counter(finding.code for finding in findings).items())),
        _places(findings),
    )


def _places(findings: Iterable[Finding]) -> tuple[Place, ...]:
    return tuple(sorted({Place(finding.file, finding.start.line) for finding in findings}))


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


def _kinds(findings: Iterable[Finding]) -> tuple[Blocker, ...]:
    """One entry for all findings of one code and subject, the costliest first."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.code, finding.name, finding.subject), []).append(finding)
    costly = sorted(groups.items(), key=lambda item: (-first_place(item[1][0]), -len(item[1]), item[0]))
    return tuple(
        Blocker(
            f"{subject or name} ({code} {name})" if subject else f"{code} {name}",
            group[0].message,
            group[0].advice,
            _places(group),
        )
        for (code, name, subject), group in costly
    )


def _operators(findings: Iterable[Finding]) -> tuple[Blocker, ...]:
    """One entry for each operator, of any severity: one that runs on the CPU breaks nothing, and decides the speed."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.code in _OPERATORS:
            groups.setdefault(finding.subject or finding.name, []).append(finding)
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(Blocker(name, group[0].message, group[0].advice, _places(group)) for name, group in ordered)


def _summary(level: Level, blockers: int, manual: list[Finding], review: list[Finding], errors: int) -> str:
    if level is Level.BLOCKED:
        text = (
            f"{_count(blockers, 'thing has', 'things have')} no form for Ascend and must be written or replaced first"
        )
        rest = f"; {_count(len(manual), 'place needs', 'places need')} a person besides" if manual else ""
        return f"{text}{rest}."
    if level is Level.WORK:
        rest = f", and {len(review)} to look at" if review else ""
        them = "it" if len(manual) == 1 else "them"
        return f"{_count(len(manual), 'place', 'places')} will not run before a person has changed {them}{rest}."
    if level is Level.REVIEW:
        parts = [_count(len(review), "place", "places") + " to look at"] if review else []
        parts += [_count(errors, "file", "files") + " that could not be treated"] if errors else []
        return f"{' and '.join(parts)}; none is known to stop the program.".capitalize()
    return "Nothing is known that would stop it. Only a run on the NPU proves it."


def _count(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
