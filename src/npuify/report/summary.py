"""Counts of a result, which every format tells in its own way."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from npuify.language import commas, phrase
from npuify.language import plural as in_plural
from npuify.model import Safety, ScanResult, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from npuify.model import FileError, Finding, MigrationResult


class CodeCount(msgspec.Struct, frozen=True):
    """How often one code was found."""

    code: str
    name: str
    severity: Severity
    """The worst among them."""
    safety: Safety
    """The least safe among them."""
    count: int


class Summary(msgspec.Struct, frozen=True):
    """Counts over one list of findings."""

    files_seen: int
    """Files looked at: Python, and those of requirements."""
    files_parsed: int
    """Those that could hold something of interest."""
    files_with_findings: int
    findings: int
    remaining: int
    """Findings of severity error or warning."""
    by_severity: dict[str, int]
    by_safety: dict[str, int]
    by_code: tuple[CodeCount, ...]
    """The worst and most frequent first."""
    file_errors: int
    """Files that could not be processed properly."""


_ACTS = ("migrated", "review", "manual", "note")
_WORST = tuple(Severity)
_LEAST_SAFE = tuple(reversed(Safety))


def summarise(scan: ScanResult, findings: Sequence[Finding]) -> Summary:
    """Counts over ``findings``, which are those of ``scan`` or what its migration left."""
    severities = Counter(finding.severity for finding in findings)
    safeties = Counter(finding.safety for finding in findings)
    return Summary(
        files_seen=scan.files_seen,
        files_parsed=scan.files_parsed,
        files_with_findings=len({finding.file for finding in findings}),
        findings=len(findings),
        remaining=len(remaining(findings)),
        by_severity={severity.value: severities[severity] for severity in Severity},
        by_safety={safety.value: safeties[safety] for safety in Safety},
        by_code=tuple(_by_code(findings)),
        file_errors=len(scan.errors),
    )


def remaining(findings: Iterable[Finding]) -> list[Finding]:
    """The findings that stand between the project and the NPU: errors and warnings."""
    return [finding for finding in findings if finding.severity is not Severity.INFO]


def nothing_left(result: ScanResult | MigrationResult) -> bool:
    """Whether a person has nothing left to do: no error or warning, and no file that could not be processed."""
    if isinstance(result, ScanResult):
        return not remaining(result.findings) and not result.errors
    return not remaining(result.left) and not result.scan.errors


def counted(count: int, noun: str, plural: str = "") -> str:
    """ "1 file", "2 files"."""
    return in_plural(f"{{count}} {noun}", f"{{count}} {plural or noun + 's'}", count)


def severities_in_words(summary: Summary) -> str:
    """ "3 errors, 1 warning"; empty where there are no findings."""
    errors, warnings, notes = (summary.by_severity.get(key, 0) for key in ("error", "warning", "info"))
    words = (
        in_plural("{count} error", "{count} errors", errors) if errors else "",
        in_plural("{count} warning", "{count} warnings", warnings) if warnings else "",
        in_plural("{count} note", "{count} notes", notes) if notes else "",
    )
    return commas(filter(None, words))


def acts_in_words(counts: Mapping[str, int], *, counted: bool = False) -> list[str]:
    """What is done about the findings of a code, or of a file: "2 safe edits", "1 note".

    Args:
        counts: how many by status: ``migrated``, ``review``, ``manual`` or ``note``.
        counted: with the number, also where all are treated alike.
    """
    told = [key for key in _ACTS if counts.get(key)]
    return [_act(key, counts[key], counted=counted or len(told) > 1) for key in told]


def _act(key: str, count: int, *, counted: bool) -> str:
    if key == "migrated":
        text = in_plural("{count} safe edit", "{count} safe edits", count)
        return text if counted else phrase("safe edit") if count == 1 else phrase("safe edits")
    if key == "note":
        text = in_plural("{count} note", "{count} notes", count)
        return text if counted else phrase("note") if count == 1 else phrase("notes")
    if key == "review":
        return in_plural("{count} to review", "{count} to review", count) if counted else phrase("to review")
    return in_plural("{count} by hand", "{count} by hand", count) if counted else phrase("by hand")


def in_order(errors: Iterable[FileError]) -> list[FileError]:
    """By file and line."""
    return sorted(errors, key=lambda error: (error.file, error.line, error.message))


def _by_code(findings: Iterable[Finding]) -> list[CodeCount]:
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.code, finding.name), []).append(finding)
    counts = [
        CodeCount(
            code,
            name,
            min((finding.severity for finding in group), key=_WORST.index),
            min((finding.safety for finding in group), key=_LEAST_SAFE.index),
            len(group),
        )
        for (code, name), group in groups.items()
    ]
    return sorted(counts, key=lambda one: (_WORST.index(one.severity), -one.count, one.code, one.name))
