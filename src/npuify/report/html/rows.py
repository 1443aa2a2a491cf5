"""What the table of the page shows, as plain data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from npuify.model import ScanResult, Severity
from npuify.report.addresses import rule_address
from npuify.report.areas import area
from npuify.report.html.diffs import narrowed
from npuify.report.verdicts.verdict import status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.model import Finding, MigrationResult
    from npuify.report.html.code import Code
    from npuify.report.html.diffs import Line

STATUSES: Final = ("migrated", "review", "manual", "note")
"""In the order in which they are drawn."""

_LARGEST_DIFF: Final = 20_000_000
"""Characters. Beyond it the page would not open; changes.csv and the files themselves hold the same."""

_WIDEST: Final = 1000
"""Characters of a line that are shown in a diff: minified code has lines of a megabyte."""


def rows(result: ScanResult | MigrationResult, code: Code) -> list[dict[str, Any]]:
    """One row for each finding, and for a migration each change first."""
    findings = result.findings if isinstance(result, ScanResult) else result.left
    table = [_row(finding, code) for finding in findings]
    if isinstance(result, ScanResult):
        return table
    known: dict[tuple[str, str], Finding] = {}
    for finding in result.scan.findings:
        known.setdefault((finding.code, finding.message), finding)
        known.setdefault((finding.code, ""), finding)
    changed = []
    for change in result.changes:
        cause = known.get((change.code, change.message)) or known.get((change.code, ""))
        changed.append(
            {
                "status": "migrated",
                "severity": (cause.severity if cause else Severity.ERROR).value,
                "code": change.code,
                "documentation": rule_address(change.code),
                "name": change.name,
                "area": area(change.code),
                "file": change.file,
                "line": change.start.line,
                "message": change.message,
                "advice": "",
                "evidence": cause.evidence.value if cause else "",
                "source": cause.source if cause else "",
                "lines": code.of_change(change),
            }
        )
    return changed + table


def diffs(code: Code) -> list[dict[str, Any]]:
    """The diff of each changed file, hunk by hunk; empty where all together would be too much for a page."""
    size = 0
    files = []
    for file, hunks in code.diffs.items():
        added = sum(line.kind == "+" for hunk in hunks for line in hunk)
        removed = sum(line.kind == "-" for hunk in hunks for line in hunk)
        shown = [_shown(hunk) for hunk in hunks]
        size += sum(len(line[3]) for hunk in shown for line in hunk)
        if size > _LARGEST_DIFF:
            return []
        files.append(
            {
                "file": file,
                "added": added,
                "removed": removed,
                "hunks": shown,
            }
        )
    return files


def _shown(hunk: Sequence[Line]) -> list[tuple[str, int, int, str]]:
    texts = narrowed([(line.kind, line.text.rstrip("\r")) for line in hunk], _WIDEST)
    return [(line.kind, line.old, line.new, text) for line, text in zip(hunk, texts, strict=True)]


def _row(finding: Finding, code: Code) -> dict[str, Any]:
    return {
        "status": status(finding, migrated=code.migrated),
        "severity": finding.severity.value,
        "code": finding.code,
        "documentation": rule_address(finding.code),
        "name": finding.name,
        "area": area(finding.code),
        "file": finding.file,
        "line": finding.start.line,
        "message": finding.message,
        "advice": finding.advice,
        "evidence": finding.evidence.value,
        "source": finding.source,
        "lines": code.of_finding(finding),
    }
