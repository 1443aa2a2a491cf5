"""Workflow commands of GitHub Actions: an annotation for each finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.model import ScanResult, Severity
from npuify.report.places import Places
from npuify.report.summary import counted, in_order, severities_in_words, summarise

if TYPE_CHECKING:
    from npuify.model import MigrationResult

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(result: ScanResult | MigrationResult) -> str:
    """One command a line, then a plain line that counts them."""
    scan, findings = (result, result.findings) if isinstance(result, ScanResult) else (result.scan, result.left)
    places = Places(result)
    lines = []
    for finding in findings:
        properties: dict[str, str | int] = {
            "file": places.shown(finding.file),
            "line": finding.start.line,
            "endLine": finding.end.line,
            "col": finding.start.column,
            "endColumn": finding.end.column,
            "title": f"{finding.code} {finding.name}",
        }
        if finding.end.line != finding.start.line:
            # GitHub takes columns only where the annotation keeps to one line.
            del properties["col"], properties["endColumn"]
        message = finding.message + (f"\n{finding.advice}" if finding.advice else "")
        lines.append(_command(_COMMANDS[finding.severity], properties, message))
    for error in in_order(scan.errors):
        properties = {"file": places.shown(error.file), "line": max(error.line, 1), "title": "npuify"}
        lines.append(_command("error", properties, error.message + (f"\n{error.advice}" if error.advice else "")))
    words = severities_in_words(summarise(scan, findings))
    lines.append(f"npuify: {counted(len(findings), 'finding')}{f' ({words})' if words else ''}")
    return "\n".join(lines) + "\n"


def _command(name: str, properties: dict[str, str | int], message: str) -> str:
    listed = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{name} {listed}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
