"""JUnit's XML, which nearly every CI service shows as test results: a file is a suite, a finding a test that fails."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from npuify.model import ScanResult, Severity
from npuify.report.places import Places
from npuify.report.summary import in_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from npuify.model import FileError, Finding, MigrationResult

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(result: ScanResult | MigrationResult) -> str:
    """Errors and warnings are tests that fail, notes tests that pass; where nothing was found, one passes."""
    scan, findings = (result, result.findings) if isinstance(result, ScanResult) else (result.scan, result.left)
    places = Places(result)
    suites = [
        _suite(places.shown(file), [_finding(places.shown(file), one) for one in group])
        for file, group in groupby(findings, key=lambda one: one.file)
    ]
    suites += [
        _suite(places.shown(error.file), [_error(places.shown(error.file), error)]) for error in in_order(scan.errors)
    ]
    if not suites:
        suites = [_suite("npuify", ['    <testcase name="npuify" classname="npuify"/>'])]
    bodies = "\n".join(suites)
    failures, errors = bodies.count("<failure "), bodies.count("<error ")
    counts = f'tests="{bodies.count("<testcase ")}" failures="{failures}" errors="{errors}"'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="npuify" {counts}>\n{bodies}\n</testsuites>\n'


def _suite(name: str, cases: Iterable[str]) -> str:
    body = "\n".join(cases)
    counts = f'tests="{body.count("<testcase ")}" failures="{body.count("<failure ")}" errors="{body.count("<error ")}"'
    return f'  <testsuite name={_attribute(name)} {counts} skipped="0">\n{body}\n  </testsuite>'


def _finding(file: str, finding: Finding) -> str:
    place = f"{finding.start.line}:{finding.start.column}"
    said = f"{file}:{place}: {finding.message}" + (f"\n{finding.advice}" if finding.advice else "")
    if finding.severity is Severity.INFO:
        inside = f"<system-out>{_text(said)}</system-out>"
    else:
        attributes = f'type="{finding.severity.value}" message={_attribute(finding.message)}'
        inside = f"<failure {attributes}>{_text(said)}</failure>"
    name = f"{finding.code} {finding.name} {place}"
    return "\n".join(_case(name, file, finding.start.line, inside))


def _error(file: str, error: FileError) -> str:
    said = error.message + (f"\n{error.advice}" if error.advice else "")
    inside = f'<error type="file" message={_attribute(error.message)}>{_text(said)}</error>'
    return "\n".join(_case("npuify", file, max(error.line, 1), inside))


def _case(name: str, file: str, line: int, inside: str) -> Iterator[str]:
    where = f'classname={_attribute(file)} file={_attribute(file)} line="{line}"'
    yield f"    <testcase name={_attribute(name)} {where}>"
    yield f"      {inside}"
    yield "    </testcase>"


def _text(text: str) -> str:
    return escape(_NOT_IN_XML.sub(_shown, text))


def _attribute(text: str) -> str:
    return quoteattr(_NOT_IN_XML.sub(_shown, text))


def _shown(match: re.Match[str]) -> str:
    """A character that XML cannot hold, as Python writes it."""
    return ascii(match[0])[1:-1]
