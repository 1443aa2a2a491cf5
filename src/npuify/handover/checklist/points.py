"""The migration's checklist: each point with its state, and what that state rests on."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from npuify.handover.checklist.results import HARDWARE, NOT_RUN
from npuify.knowledge.hand_written import read_rows
from npuify.knowledge.release.versions import cann_in_words
from npuify.language import ENGLISH, commas, phrase, spoken
from npuify.model import Release, Severity
from npuify.report.doctor import Status as DoctorStatus
from npuify.report.summary import counted
from npuify.report.verdicts.scope import is_for_tensorflow
from npuify.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from npuify.handover.checklist.record import Record
    from npuify.model import Finding

VERSION: Final = 1
"""Version of the JSON: raised when something is removed or changes its meaning, not when something is added."""

_POINTS: Final = Path(__file__).resolve().parents[1] / "data" / "points.toml"
_PLACES: Final = 3
"""Places that are named as examples."""

State = Literal["done", "open", "failed", "not done", "nothing to do"]
"""``done``: there is evidence. ``open``: something is known that is left. ``failed``: it was tried, in vain.
``not done``: nobody has done it, for all that npuify knows. ``nothing to do``: it does not concern this project."""


class Point(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A row of ``points.toml``; its head says what the values mean."""

    id: str
    group: Literal["environment", "code", "runs", "right", "fast"]
    judge: Literal["code", "doctor", "versions", "edits", "files", "kernels", "seen", "person"]
    title: str
    title_zh: str
    how: str
    codes: tuple[str, ...] = ()
    codes_tensorflow: tuple[str, ...] | None = None
    title_tensorflow: str = ""
    title_tensorflow_zh: str = ""
    asks: str = ""
    """In place of a title that would say the opposite of what is known, where the point is open."""
    asks_zh: str = ""
    asks_tensorflow: str = ""
    asks_tensorflow_zh: str = ""
    how_tensorflow: str = ""
    how_zh: str = ""
    """Where ``how`` is more than commands."""
    subjects: tuple[str, ...] = ()

    def as_for_tensorflow(self) -> Point:
        """The point as it stands in the checklist of a project on TensorFlow."""
        return msgspec.structs.replace(
            self,
            codes=self.codes if self.codes_tensorflow is None else self.codes_tensorflow,
            title=self.title_tensorflow or self.title,
            title_zh=self.title_tensorflow_zh or self.title_zh,
            asks=self.asks_tensorflow or self.asks,
            asks_zh=self.asks_tensorflow_zh or self.asks_zh,
            how=self.how_tensorflow or self.how,
        )

    def titled(self, state: State, language: str) -> str:
        """Its title in that state."""
        named, asked = (self.title_zh, self.asks_zh) if language == "zh" else (self.title, self.asks)
        return asked if state == "open" and asked else named


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A point with its state."""

    id: str
    group: str
    title: str
    state: State
    where: str
    """``hardware``, ``simulation`` or ``cpu`` for what was run; empty otherwise."""
    evidence: str
    """What the state rests on."""
    file: str
    """The report that says so; empty where it is the scan of today."""
    how: str
    """How to get it done; empty where it is."""


class Checklist(msgspec.Struct, frozen=True, kw_only=True):
    """All points of one project."""

    version: int = VERSION
    tool: str
    language: str = ENGLISH
    """Of all text for people: ``en`` or ``zh``."""
    project: str
    release: Release
    points: tuple[Judged, ...]
    tensorflow: str = ""
    """The TensorFlow adapter aimed at, and why, in place of the release; empty for a project on PyTorch."""

    @property
    def target(self) -> str:
        """What is aimed at, in words."""
        if self.tensorflow:
            return self.tensorflow.rstrip(".")
        return phrase(
            "torch_npu {torch_npu} (torch {torch}, CANN {value})",
            torch_npu=self.release.torch_npu,
            torch=self.release.torch,
            value=cann_in_words(self.release.torch_npu, self.release.cann) or phrase("unknown"),
        )

    def count(self, state: State) -> int:
        """How many points are in this state."""
        return sum(point.state == state for point in self.points)

    @property
    def complete(self) -> bool:
        """Whether nothing is left: all done, or of no concern."""
        return all(point.state in ("done", "nothing to do") for point in self.points)


@cache
def points() -> tuple[Point, ...]:
    """The rows of ``points.toml``, in order."""
    return tuple(read_rows(_POINTS, "point", Point))


def checklist(record: Record) -> Checklist:
    """The state of every point for one project."""
    for_tensorflow = is_for_tensorflow(record.scan)
    asked = tuple(one.as_for_tensorflow() for one in points()) if for_tensorflow else points()
    return Checklist(
        tool=__version__,
        project=record.name,
        release=record.scan.release,
        tensorflow=record.scan.tensorflow if for_tensorflow else "",
        # What is asked of torch only has no codes on TensorFlow.
        points=tuple(_judged(point, record) for point in asked if point.codes or point.judge != "code"),
    )


class _Verdict(msgspec.Struct, frozen=True):
    state: State
    evidence: str
    file: str = ""
    where: str = ""


def _judged(point: Point, record: Record) -> Judged:
    verdict = _JUDGES[point.judge](point, record)
    return Judged(
        id=point.id,
        group=point.group,
        title=point.titled(verdict.state, spoken()),
        state=verdict.state,
        where=verdict.where,
        evidence=phrase(verdict.evidence),
        file=verdict.file,
        how="" if verdict.state in ("done", "nothing to do") else (spoken() == "zh" and point.how_zh) or point.how,
    )


def _code(point: Point, record: Record) -> _Verdict:
    findings = [one for one in record.scan.findings if one.code.startswith(point.codes)]
    left = [one for one in findings if one.severity is not Severity.INFO]
    changes = [one for one in record.migration.changes if one.code.startswith(point.codes)] if record.migration else []
    told = ""
    if changes:
        told = phrase(
            "{edits} made ({codes}); ",
            edits=counted(len(changes), "edit"),
            codes=_codes(Counter(one.code for one in changes)),
        )
    if left:
        worst = [one for one in left if one.severity is Severity.ERROR] or left
        places = ", ".join(f"{one.file}:{one.start.line}" for one in worst[:_PLACES])
        kind = phrase(
            "{told}{left} left ({codes}), first {places}",
            told=told,
            left=counted(len(left), "place"),
            codes=_codes(Counter(one.code for one in left)),
            places=places,
        )
        return _Verdict("open", kind, _report(record))
    if changes:
        return _Verdict("done", phrase("{told}nothing left{notes}", told=told, notes=_notes(findings)), _report(record))
    if findings:
        return _Verdict("done", phrase("nothing that blocks it{notes}", notes=_notes(findings)))
    return _Verdict("nothing to do", "the scan finds nothing")


def _codes(codes: Counter[str]) -> str:
    return commas(f"{code} {count}" for code, count in codes.most_common(4))


def _notes(findings: list[Finding]) -> str:
    return phrase("; {notes} to read", notes=counted(len(findings), "note")) if findings else ""


def _report(record: Record) -> str:
    return "npuify-report/findings.json" if record.migration is not None else ""


def _doctor(point: Point, record: Record) -> _Verdict:
    report = record.doctor
    if report is None:
        return _Verdict("not done", "no doctor report was given")
    wrong = [one for one in report.results if one.status in (DoctorStatus.ERROR, DoctorStatus.WARNING)]
    where = HARDWARE if report.machine.cards else ""
    machine = phrase(
        "{source}, {number} NPUs, CANN {cann}",
        source=report.source,
        number=len(report.machine.cards),
        cann=report.machine.cann or phrase("not loaded"),
    )
    if not wrong:
        return _Verdict(
            "done",
            phrase("{checks} of {machine}", checks=counted(len(report.checks), "check"), machine=machine),
            record.doctor_file,
            where,
        )
    failed = report.worst is DoctorStatus.ERROR
    first = phrase("{name}: {message}", name=wrong[0].check, message=wrong[0].message)
    more = phrase(", and {value} more", value=len(wrong) - 1) if len(wrong) > 1 else ""
    return _Verdict(
        "failed" if failed else "open",
        phrase("{machine}: {first}{more}", machine=machine, first=first, more=more),
        record.doctor_file,
        where,
    )


def _set_of_tensorflow(record: Record) -> _Verdict:
    asked = phrase("target {asked}", asked=record.scan.tensorflow.rstrip("."))
    wrong = [one for one in record.scan.findings if one.code == "NPU920" and one.severity is not Severity.INFO]
    if wrong:
        place = f"{wrong[0].file}:{wrong[0].start.line}"
        return _Verdict(
            "open", phrase("{asked}; {place}: {message}", asked=asked, place=place, message=wrong[0].message)
        )
    if record.doctor is None:
        return _Verdict("not done", phrase("{asked}; not checked whether a machine has this set", asked=asked))
    made = [one for one in record.doctor.checks if one.name in _CHECKS_OF_TENSORFLOW]
    if not made or all(one.status is DoctorStatus.SKIPPED for one in made):
        return _Verdict(
            "open", phrase("the machine's Python has no TensorFlow: {asked}", asked=asked), record.doctor_file
        )
    faults = [
        one
        for one in record.doctor.results
        if one.check in _CHECKS_OF_TENSORFLOW and one.status in (DoctorStatus.ERROR, DoctorStatus.WARNING)
    ]
    if faults:
        return _Verdict(
            "open", phrase("{message}; {asked}", message=faults[0].message, asked=asked), record.doctor_file
        )
    return _Verdict(
        "done", phrase("TensorFlow, its adapter and Python match; {asked}", asked=asked), record.doctor_file
    )


_CHECKS_OF_TENSORFLOW: Final = ("tensorflow.adapter", "tensorflow.set")


def _versions(point: Point, record: Record) -> _Verdict:
    if is_for_tensorflow(record.scan):
        return _set_of_tensorflow(record)
    release = record.scan.release
    asked = phrase(
        "torch_npu {torch_npu}, torch {torch}, CANN {value} ({reason})",
        torch_npu=release.torch_npu,
        torch=release.torch,
        value=cann_in_words(release.torch_npu, release.cann) or phrase("unknown"),
        reason=release.reason,
    )
    wrong = [one for one in record.scan.findings if one.code == "NPU601" and one.severity is not Severity.INFO]
    if wrong:
        place = f"{wrong[0].file}:{wrong[0].start.line}"
        return _Verdict(
            "open", phrase("target {asked}; {place}: {message}", asked=asked, place=place, message=wrong[0].message)
        )
    if record.doctor is None:
        return _Verdict("not done", phrase("target {asked}; not checked whether a machine has this set", asked=asked))
    machine = record.doctor.machine
    has = phrase(
        "torch_npu {value}, torch {value2}, CANN {value3}",
        value=machine.torch_npu or phrase("none"),
        value2=machine.torch or phrase("none"),
        value3=machine.cann or phrase("none"),
    )
    mixed = [one for one in record.doctor.results if one.check == "versions.set" and one.status is not DoctorStatus.OK]
    if mixed or not machine.torch_npu:
        reason = mixed[0].message if mixed else "torch_npu is not installed"
        return _Verdict("open", phrase("the machine has {has}: {reason}", has=has, reason=reason), record.doctor_file)
    same = machine.torch_npu.partition("+")[0] == release.torch_npu
    note = "" if same else phrase("; the code was written for {torch_npu}", torch_npu=release.torch_npu)
    return _Verdict("done", phrase("the machine has {has}{note}", has=has, note=note), record.doctor_file)


def _edits(point: Point, record: Record) -> _Verdict:
    if record.migration is None:
        return _Verdict("not done", "no migration report: npuify migrate was not run on this copy")
    changes = len(record.migration.changes)
    if not changes:
        return _Verdict("nothing to do", "the migration changed nothing", _report(record))
    files = len(record.migration.changed_files)
    return _Verdict(
        "not done",
        phrase(
            "{edits} in {files}; npuify cannot know whether they were reviewed",
            edits=counted(changes, "edit"),
            files=counted(files, "file"),
        ),
        _report(record),
    )


def _files(point: Point, record: Record) -> _Verdict:
    errors = record.scan.errors
    if not errors:
        return _Verdict("done", phrase("{files} checked", files=counted(record.scan.files_seen, "file")))
    first = errors[0]
    return _Verdict(
        "open",
        phrase(
            "{files} could not be processed, first {file}: {message}",
            files=counted(len(errors), "file"),
            file=first.file,
            message=first.message,
        ),
    )


def _kernels(point: Point, record: Record) -> _Verdict:
    survey = record.scan.survey
    if not survey.kernels and not survey.operators:
        return _Verdict("nothing to do", "the project has no CUDA source files")
    open_ones = [one for one in survey.operators if one.calls and not one.has_npu and one.difficulty != "host"]
    if survey.operators and not open_ones:
        return _Verdict("done", "every operator that Python calls has an NPU version")
    names = ", ".join(one.name for one in open_ones[:_PLACES]) or ", ".join(survey.kernels[:_PLACES])
    count = counted(len(open_ones), "operator") if open_ones else counted(len(survey.kernels), "CUDA source file")
    return _Verdict("open", phrase("{count_}: {names}", count_=count, names=names))


def _seen(point: Point, record: Record) -> _Verdict:
    results = [one for one in record.results if one.subject in point.subjects and one.outcome != NOT_RUN]
    if not results:
        skipped = [one for one in record.results if one.subject in point.subjects]
        why = phrase(": {text}", text=skipped[0].text) if skipped else ""
        return _Verdict("not done", phrase("no result was found{why}", why=why), skipped[0].file if skipped else "")
    # A failure anywhere counts; among successes the card's says most.
    order = {"failed": 0, "unclear": 1, "passed": 2}
    results.sort(key=lambda one: (order.get(one.outcome, 1), one.where != HARDWARE))
    worst = results[0]
    states: dict[str, State] = {"passed": "done", "failed": "failed"}
    return _Verdict(states.get(worst.outcome, "open"), worst.text, worst.file, worst.where)


def _person(point: Point, record: Record) -> _Verdict:
    return _Verdict("not done", "only a person can say")


_JUDGES: Final[dict[str, Callable[[Point, Record], _Verdict]]] = {
    "code": _code,
    "doctor": _doctor,
    "versions": _versions,
    "edits": _edits,
    "files": _files,
    "kernels": _kernels,
    "seen": _seen,
    "person": _person,
}
