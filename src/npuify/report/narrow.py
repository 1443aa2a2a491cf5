"""Only what is new: findings that an earlier report does not have, or that stand on lines changed since a revision."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.language import phrase
from npuify.model import NpuifyError
from npuify.report.summary import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from npuify.model import FileError, Finding, ScanResult
    from npuify.project.git import ChangedLines


_SAME_FILE: Final = 0.5
"""The share of findings that two files must have in common to be taken for one, at least."""


class _Known(msgspec.Struct, frozen=True):
    """A finding of an earlier report, as far as it tells one from another."""

    code: str
    file: str
    line: int
    subject: str


class _KnownError(msgspec.Struct, frozen=True):
    file: str
    message: str


class _Report(msgspec.Struct, frozen=True):
    """What is read of the output of ``npuify scan --format json``."""

    command: str
    findings: tuple[_Known, ...]
    errors: tuple[_KnownError, ...]


def fingerprints(findings: Iterable[Finding]) -> list[str]:
    """A stable id for each finding: lines above it may come and go, its own file, code and subject may not."""
    seen: Counter[tuple[str, str, str]] = Counter()
    marks = []
    for finding in findings:
        key = (finding.code, finding.file, finding.subject)
        seen[key] += 1
        text = "\0".join((*key, str(seen[key])))
        marks.append(hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32])
    return marks


def without_baseline(result: ScanResult, baseline: Path) -> ScanResult:
    """What ``result`` has and an earlier report has not.

    A finding is known by its file, code and subject. Where a file has more of the same than before, those count as new
    whose lines moved least like the others. A file that was moved, or renamed in its folder, is the one that it was, as
    far as its findings tell.

    Args:
        result: of a scan.
        baseline: the output of ``npuify scan --format json`` on the same project.

    Raises:
        NpuifyError: the file cannot be read, or is no such report.
    """
    report = _read(baseline)
    before: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for one in report.findings:
        before[one.file, one.code, one.subject].append(one.line)
    was = _renamed(Path(result.root), result.findings, report.findings)
    now: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for number, finding in enumerate(result.findings):
        now[was.get(finding.file, finding.file), finding.code, finding.subject].append(number)
    lines = [finding.start.line for finding in result.findings]
    moved: dict[str, Counter[int]] = defaultdict(Counter)
    for key, numbers in now.items():
        moved[key[0]].update(lines[number] - line for number in numbers for line in before.get(key, []))
    known: set[int] = set()
    for key, numbers in now.items():
        known.update(_matched(numbers, lines, before.get(key, []), moved[key[0]]))
    old_errors = {(error.file, error.message) for error in report.errors}
    return _narrowed(
        result,
        [finding for number, finding in enumerate(result.findings) if number not in known],
        [error for error in result.errors if (was.get(error.file, error.file), error.message) not in old_errors],
        phrase("Only findings that {name} does not have are counted", name=baseline.name),
    )


def _renamed(root: Path, now: Iterable[Finding], before: Iterable[_Known]) -> dict[str, str]:
    """Files of which the earlier report says nothing, with the names that they had in it: now there are none of these.

    Either the name stayed or the folder, and more than half of the findings are the same.
    """
    kinds: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    old: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for one in before:
        old[one.file][one.code, one.subject] += 1
    for finding in now:
        if finding.file not in old:
            kinds[finding.file][finding.code, finding.subject] += 1
    gone = [file for file in old if kinds and not (root / file).exists()]
    found = []
    for new, ours in kinds.items():
        for file in gone:
            theirs, same = old[file], (ours & old[file]).total()
            stayed = PurePosixPath(new).name == PurePosixPath(file).name
            share = same / max(ours.total(), theirs.total())
            if share > _SAME_FILE and (stayed or PurePosixPath(new).parent == PurePosixPath(file).parent):
                found.append((-share, not stayed, new, file))
    was: dict[str, str] = {}
    for _, _, new, file in sorted(found):
        if new not in was and file not in was.values():
            was[new] = file
    return was


def on_changed_lines(result: ScanResult, changed: ChangedLines) -> ScanResult:
    """What ``result`` says of lines that have changed, and of files with changed lines that could not be processed."""
    return _narrowed(
        result,
        [one for one in result.findings if _is_touched(one, changed)],
        [error for error in result.errors if changed.has(error.file)],
        phrase("Only findings on lines changed since {since} are counted", since=changed.since),
    )


def _is_touched(finding: Finding, changed: ChangedLines) -> bool:
    spans = [(finding.start.line, finding.end.line), *((place.line, place.line) for place in finding.also)]
    return any(changed.touch(finding.file, first, last) for first, last in spans)


def _narrowed(result: ScanResult, findings: Sequence[Finding], errors: Sequence[FileError], what: str) -> ScanResult:
    others = len(result.findings) - len(findings) + len(result.errors) - len(errors)
    said = phrase(
        "{what}; {others} {value} left out.",
        what=what,
        others=counted(others, "other"),
        value="is" if others == 1 else "are",
    )
    return msgspec.structs.replace(
        result,
        findings=tuple(findings),
        errors=tuple(errors),
        narrowed=f"{result.narrowed} {said}".lstrip(),
    )


def _read(baseline: Path) -> _Report:
    make = phrase("write it with: npuify scan PROJECT --format json --output baseline.json")
    try:
        # What is no regular file may have no end, or wait for who writes it.
        if baseline.exists() and not baseline.is_file():
            raise NpuifyError(phrase("is no regular file"), file=str(baseline), advice=make)
        raw = baseline.read_bytes()
    except OSError as error:
        raise NpuifyError(error.strerror or str(error), file=str(baseline), advice=make) from error
    try:
        report = msgspec.json.decode(raw, type=_Report)
    except msgspec.MsgspecError as error:
        raise NpuifyError(
            phrase("is no report of npuify scan: {error}", error=error), file=str(baseline), advice=make
        ) from None
    if report.command != "scan":
        raise NpuifyError(
            phrase("is a report of npuify {command}", command=report.command), file=str(baseline), advice=make
        )
    return report


def _matched(numbers: Sequence[int], lines: Sequence[int], before: Sequence[int], moved: Counter[int]) -> set[int]:
    """Which of the findings ``numbers`` the earlier ones, on the lines ``before``, are.

    Args:
        numbers: of findings of one kind in one file.
        lines: of all findings.
        before: where those of this kind stood.
        moved: by how many lines findings of the file may have moved, and how many of them.
    """
    if len(numbers) <= len(before):
        return set(numbers)

    def unlikely(pair: tuple[int, int]) -> tuple[int, int]:
        shift = lines[pair[0]] - before[pair[1]]
        return -moved[shift], abs(shift)

    found: set[int] = set()
    taken: set[int] = set()
    for number, old in sorted(((number, old) for number in numbers for old in range(len(before))), key=unlikely):
        if number not in found and old not in taken:
            found.add(number)
            taken.add(old)
    return found
