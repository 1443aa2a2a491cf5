"""How many hours a move may take. An estimate, and made so that everyone can see how.

The hours are a sum of fixed parts and of parts for what was found:

* **Fixed**: setting up the environment, the first run on one card, and comparing the result with that of the GPU. They
  are due even where not one line has to change, unless there is nothing that a GPU would run.
* **For each start**: each script that is started has to be tried once; no more than ``_MOST_STARTS`` are counted.
* **For each kind of finding**: findings of one code, safety, severity and subject are one decision; so are all of one
  package that Ascend does not have. The first place costs the most, and more in areas where the way is hard to find;
  each further place costs a fraction, because the same decision is only repeated. Edits that npuify makes cost the
  minutes of reading them in a diff.
* **For each operator** of the project's own CUDA code that its Python calls: to be replaced by an equivalent where one
  is known, else to be written again, by what its kernels use. Where no operator is known: for each CUDA source file.
* **For each file that imports another framework than torch**, where the project stands on that: to be ported by hand.
* **For each file that could not be treated**: to be looked at by a person.

Every part has a low and a high end. None of the numbers was measured: they are the judgement of people who moved
projects, and projects differ by more than the ends of the range say. What no tool sees from the text of a program is in
the fixed parts only: numbers that differ, speed, memory, other people's packages.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from npuify.language import commas, mark, phrase, plural
from npuify.model import Safety, Severity
from npuify.report.areas import area
from npuify.report.summary import counted
from npuify.report.verdicts.kernels import NATIVE_OPERATOR
from npuify.report.verdicts.packages import decision
from npuify.report.verdicts.scope import foreign, has_nothing_to_move, is_for_tensorflow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from npuify.model import Finding, NativeOperator, ScanResult


class Part(msgspec.Struct, frozen=True):
    """One line of the estimate."""

    name: str
    low: float
    """Hours."""
    high: float
    """Hours."""
    basis: str
    """What was counted, and at which rate."""


class Estimate(msgspec.Struct, frozen=True):
    """Hours of one person who knows the project and is new to Ascend."""

    low: float
    likely: float
    high: float
    parts: tuple[Part, ...]
    how: tuple[str, ...]
    """How it is made and what it leaves out, in sentences for a person."""


HOW: Final = (
    (
        "Fixed hours for the environment, the first run and comparing results; then minutes for each kind of finding, "
        "by who has to act and how severe it is, counting the first place of a kind in full and each further place "
        "at a fraction; then hours for each CUDA operator or source file, and minutes for each script to try."
    ),
    (
        "The rates are a judgment, not a measurement, and no estimate was checked against a real migration. Expect "
        "errors beyond the range for projects that depend on packages without an Ascend version."
    ),
    (
        "Not included: performance tuning, training to full accuracy, waiting for machines, and anything that only "
        "shows at run time."
    ),
)


class _Rate(NamedTuple):
    """Minutes."""

    first: float
    further: float


_READ: Final = _Rate(2, 0.2)
"""To read an edit that npuify makes."""
_REVIEW: Final = _Rate(12, 1)
"""To decide on an edit that is right in the usual case only."""
_BY_HAND: Final = {Severity.ERROR: _Rate(60, 6), Severity.WARNING: _Rate(25, 2), Severity.INFO: _Rate(2, 0.1)}

_HARDER: Final = {"3": 1.5, "4": 1.5, "5": 3.0, "6": 4.0}
"""What the first place of work by hand costs more in these areas: several cards, operators, attention, packages."""
_CODES: Final = {"NPU102": 1.5, "NPU302": 0.5}
"""Codes that differ from their area: a name that is missing wants another way; a name of NCCL is mostly a word."""

_FIXED: Final = (
    Part(mark("Environment"), 1, 6, "a matching set of driver, CANN, torch and torch_npu"),
    Part("First run on one card", 1, 6, "start it, fix what only a run shows"),
    Part(mark("Acceptance"), 2, 12, "compare losses and results with the GPU's"),
)
_START_MINUTES: Final = (5.0, 30.0)
_MOST_STARTS: Final = 12
_KERNEL_HOURS: Final = (3.0, 24.0)
_MOST_KERNELS: Final = 40
_OPERATOR_HOURS: Final = {
    "with a replacement": (0.1, 0.5),
    "with an equivalent": (0.5, 4.0),
    mark("elementwise"): (2.0, 12.0),
    mark("cooperative"): (6.0, 32.0),
    mark("library"): (3.0, 20.0),
    "tensor core": (16.0, 80.0),
    mark("unknown"): (3.0, 24.0),
}
"""For one operator that the project's Python calls, by what its kernels use."""
_MOST_OPERATORS: Final = 25
"""Of one kind: a project that has more needs only some of them for any one use."""
_PORT_HOURS: Final = (1.0, 8.0)
"""For one file that imports a framework that npuify has no rules for."""
_MOST_PORTED: Final = 60
_UNREAD_MINUTES: Final = (5.0, 30.0)
_TOLD_ALONE: Final = 6.0
"""Minutes from which on an area has a line of its own."""
_ENDS: Final = (0.5, 2.0)
"""The range of the minutes for findings."""


def minutes(findings: Iterable[Finding], *, done: Iterable[Finding] = ()) -> dict[str, float]:
    """Likely minutes by area for ``findings`` that are left to a person, and for reading the edits of ``done``."""
    places: Counter[tuple[str, Safety, Severity, str]] = Counter()
    for finding in findings:
        safety = finding.safety if finding.edits else Safety.MANUAL
        places[finding.code, safety, finding.severity, decision(finding)] += 1
    for finding in done:
        # All edits of one rule are read in one go, whatever name each is about.
        places[finding.code, Safety.SAFE, Severity.INFO, ""] += 1
    total: dict[str, float] = {}
    for (code, safety, severity, _), count in places.items():
        total[area(code)] = total.get(area(code), 0.0) + _kind(code, safety, severity, count)
    return total


def cost(finding: Finding, places: int) -> float:
    """Likely minutes for so many places of a finding's kind."""
    return _kind(finding.code, finding.safety if finding.edits else Safety.MANUAL, finding.severity, places)


def _kind(code: str, safety: Safety, severity: Severity, count: int) -> float:
    rate, factor = _BY_HAND[severity], 1.0
    if safety is Safety.SAFE:
        rate = _READ
    elif safety is Safety.REVIEW:
        rate = _REVIEW
    elif severity is not Severity.INFO:
        factor = _CODES.get(code, _HARDER.get(code.removeprefix("NPU")[:1], 1.0))
    # What makes an area harder is to find the way; to go it again is not.
    return factor * rate.first + (count - 1) * rate.further


def estimate(scan: ScanResult, left: Iterable[Finding], done: Iterable[Finding]) -> Estimate:
    """The estimate for a project.

    Args:
        scan: of the source.
        left: findings that a person has to act on.
        done: findings whose edits npuify makes or has made.
    """
    if has_nothing_to_move(scan):
        return Estimate(0, 0, 0, (), HOW)
    parts = [msgspec.structs.replace(part, name=phrase(part.name), basis=phrase(part.basis)) for part in _FIXED]
    if is_for_tensorflow(scan):
        parts[0] = msgspec.structs.replace(
            parts[0], basis=phrase("a matching set of driver, CANN, Python, TensorFlow and its adapter")
        )
    starts = max(len(scan.survey.entry_points), 1)
    parts.append(
        _counted(
            phrase("Try each entry point"),
            starts,
            _MOST_STARTS,
            mark("{count} entry point"),
            "{count} entry points",
            _START_MINUTES,
            1 / 60,
        )
    )
    done = list(done)
    reading = sum(minutes((), done=done).values()) / 60
    if done:
        parts.append(
            _ranged(
                phrase("Review the edits"),
                reading,
                phrase(
                    "{edited_places}, {first:g} minutes per rule",
                    edited_places=counted(len(done), "edited place"),
                    first=_READ.first,
                ),
            )
        )
    others = [finding for finding in left if finding.code != NATIVE_OPERATOR]
    areas = sorted(minutes(others).items(), key=lambda item: -item[1])
    parts += [
        _ranged(phrase(name), spent / 60, phrase("what needs manual work in this area"))
        for name, spent in areas
        if spent >= _TOLD_ALONE
    ]
    if small := [(name, spent) for name, spent in areas if spent < _TOLD_ALONE]:
        together = sum(spent for _, spent in small) / 60
        told = [phrase(name) for name, _ in small]
        names = commas(name if not at else name[:1].lower() + name[1:] for at, name in enumerate(told))
        parts.append(_ranged(phrase("Other areas"), together, phrase("a few minutes each: {names}", names=names)))
    other = foreign(scan)
    if other is not None and not other.has_rules:
        one, many = mark("{count} file that imports it"), "{count} files that import it"
        parts.append(
            _counted(phrase("Port from {name}", name=other.name), other.files, _MOST_PORTED, one, many, _PORT_HOURS, 1)
        )
    parts += _kernels(scan)
    if scan.errors:
        errors = len(scan.errors)
        parts.append(
            _counted(
                phrase("Files not processed"), errors, errors, "{count} file", "{count} files", _UNREAD_MINUTES, 1 / 60
            )
        )
    low, high = sum(part.low for part in parts), sum(part.high for part in parts)
    # Where the ends lie far apart, the middle of their ratio is nearer the truth than the middle of their sum.
    return Estimate(_rounded(low), _rounded((low * high) ** 0.5), _rounded(high), tuple(parts), HOW)


def _kernels(scan: ScanResult) -> list[Part]:
    """The project's own operators, each by its difficulty; or its CUDA files, where no operator is known."""
    called = [one for one in scan.survey.operators if one.calls and one.difficulty != "host"]
    if not called:
        count = len(scan.survey.kernels)
        one, many = mark("{count} CUDA source file"), "{count} CUDA source files"
        return [_counted(phrase("CUDA kernels"), count, _MOST_KERNELS, one, many, _KERNEL_HOURS, 1)] if count else []
    kinds = Counter(_work_on(one) for one in called)
    parts = []
    for kind, (low, high) in _OPERATOR_HOURS.items():
        if kinds[kind]:
            name = phrase("CUDA operators, {kind}", kind=phrase(kind))
            one, many = mark("{count} operator that Python calls"), "{count} operators that Python calls"
            parts.append(_counted(name, kinds[kind], _MOST_OPERATORS, one, many, (low, high), 1))
    return parts


def _work_on(one: NativeOperator) -> str:
    if one.replacement:
        return "with a replacement"
    return "with an equivalent" if one.equivalent or one.has_npu else one.difficulty


def _counted(name: str, count: int, most: int, one: str, many: str, ends: tuple[float, float], unit: float) -> Part:
    each = (
        mark("{counted}, {low:g} to {high:g} minutes each")
        if unit < 1
        else mark("{counted}, {low:g} to {high:g} hours each")
    )
    basis = phrase(each, counted=plural(one, many, count), low=ends[0], high=ends[1])
    if count > most:
        basis += phrase("; at most {most} are counted", most=most)
    paid = min(count, most)
    return Part(name, round(paid * ends[0] * unit, 2), round(paid * ends[1] * unit, 2), basis)


def _ranged(name: str, hours: float, basis: str) -> Part:
    return Part(name, round(hours * _ENDS[0], 2), round(hours * _ENDS[1], 2), basis)


def _rounded(hours: float) -> float:
    """Hours as they can honestly be told: whole ones below ten, then fives, then tens."""
    step = 1 if hours < 10 else 5 if hours < 100 else 10
    return float(max(step * round(hours / step), 1))
