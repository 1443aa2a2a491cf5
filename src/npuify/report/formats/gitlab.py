"""GitLab's code quality report: https://docs.gitlab.com/ci/testing/code_quality/ tells its fields."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from npuify.model import ScanResult, Severity
from npuify.report.narrow import fingerprints
from npuify.report.places import Places
from npuify.report.summary import in_order

if TYPE_CHECKING:
    from npuify.model import MigrationResult

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def render(result: ScanResult | MigrationResult) -> str:
    """One issue for each finding, and for each file that could not be processed.

    Paths are relative to the working folder, which GitLab wants to be the repository's.
    """
    scan, findings = (result, result.findings) if isinstance(result, ScanResult) else (result.scan, result.left)
    places = Places(result)
    issues = [
        _issue(
            f"{finding.code} {finding.name}",
            finding.message + (f" {finding.advice}" if finding.advice else ""),
            _SEVERITIES[finding.severity],
            places.shown(finding.file),
            (finding.start.line, finding.end.line),
            mark,
        )
        for finding, mark in zip(findings, fingerprints(findings), strict=True)
    ]
    for error in in_order(scan.errors):
        line = max(error.line, 1)
        mark = f"npuify {error.file} {error.message}"
        text = error.message + (f" {error.advice}" if error.advice else "")
        issues.append(_issue("npuify", text, "major", places.shown(error.file), (line, line), mark))
    return json.dumps(issues, ensure_ascii=False, indent=2) + "\n"


def _issue(
    check: str, description: str, severity: str, path: str, lines: tuple[int, int], fingerprint: str
) -> dict[str, Any]:
    return {
        "type": "issue",
        "check_name": check,
        "description": description,
        "severity": severity,
        "fingerprint": fingerprint,
        "location": {"path": path, "lines": {"begin": lines[0], "end": lines[1]}},
    }
