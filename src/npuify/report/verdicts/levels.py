"""The verdicts, and the things that decide one, each with its places."""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.language import mark, phrase
from npuify.report.verdicts.effort import cost
from npuify.report.verdicts.packages import WITHOUT_FORM, package

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from npuify.model import Finding


class Level(str, Enum):
    """The verdicts, from the best to the worst."""

    RUNS = "runs"
    """Runs after migration, for all that can be seen without running it."""
    REVIEW = "review"
    """A person has to review some places; none is known to stop the program."""
    WORK = "work"
    """Some places will not run before a person has changed them."""
    BLOCKED = "blocked"
    """Something has no form for Ascend, and has to be written or replaced first."""


TITLES: Final = {
    Level.RUNS: mark("Runs after migration"),
    Level.REVIEW: mark("Needs review"),
    Level.WORK: mark("Needs work"),
    Level.BLOCKED: mark("Blocked"),
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


def places_of(findings: Iterable[Finding]) -> tuple[Place, ...]:
    """Where findings lie, each place once."""
    return tuple(sorted({Place(finding.file, finding.start.line) for finding in findings}))


def kinds(findings: Iterable[Finding]) -> tuple[Blocker, ...]:
    """One entry for all findings of one package without a form, or of one code and subject; the costliest first."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        whole = finding.code in WITHOUT_FORM and package(finding)
        key = ("", "", whole) if whole else (finding.code, finding.name, finding.subject)
        groups.setdefault(key, []).append(finding)
    entries = [(key, _costliest(group), group) for key, group in groups.items()]
    entries.sort(key=lambda one: (-cost(one[1], len(one[2])), one[0]))
    return tuple(_kind(first, group) for _, first, group in entries)


def _costliest(group: Sequence[Finding]) -> Finding:
    """The finding that is costliest to begin with: it says most of a package."""
    return group[0] if len(group) == 1 else min(group, key=lambda one: (-cost(one, 1), one.code))


def _kind(first: Finding, group: Sequence[Finding]) -> Blocker:
    subject = first.subject
    if len({one.subject for one in group}) > 1:
        # "apex", not the one part of it that comes first.
        subject = re.split(r"[ .]", subject, maxsplit=1)[0]
    what = f"{subject} ({first.code} {first.name})" if subject else f"{first.code} {first.name}"
    return Blocker(what, first.message, first.advice, places_of(group))


def subject_of(blocker: Blocker) -> str:
    """What the findings behind an entry of :func:`kinds` are about; empty where it is another kind of entry."""
    match = re.fullmatch(r"(.+) \(NPU\d+ [\w-]+\)", blocker.what)
    return match[1] if match else ""


def kinds_by_switch(findings: Iterable[Finding]) -> tuple[Blocker, ...]:
    """One entry for each switch that has places behind it, with the costliest of them."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.only_with:
            groups.setdefault(finding.only_with, []).append(finding)
    made = []
    for switch, group in sorted(groups.items()):
        first = kinds(group)[0]
        rest = len(group) - len(first.places)
        more = (
            phrase(", and {rest} more {value}", rest=rest, value="place" if rest == 1 else "places") if rest > 0 else ""
        )
        made.append(Blocker(switch, f"{first.what}{more}", first.advice, places_of(group)))
    return tuple(made)
