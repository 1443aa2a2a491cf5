"""The JSON that npuify writes, and its schema, which is made from the same types."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta

from npuify.model import Evidence, LedgerEntry, MigrationResult, Release, Safety, ScanResult, Severity
from npuify.report.in_language import in_language
from npuify.report.json_pieces import AT_ONCE, document_in_pieces, encoded, indented
from npuify.report.ledger import Ledger, ledger_of
from npuify.report.summary import Summary, in_order, summarise
from npuify.report.verdicts.verdict import Verdict, judge
from npuify.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from npuify.model import Change, FileError, Finding

VERSION: Literal[1] = 1
"""Version of the format: raised when something is removed or changes its meaning, not when something is added."""

Line = Annotated[int, Meta(ge=1, description="From 1.")]
Column = Annotated[int, Meta(ge=1, description="In characters, from 1.")]
Offset = Annotated[int, Meta(ge=0, description="In bytes of the file's text as UTF-8, without a byte order mark.")]
File = Annotated[str, Meta(description="Relative to the root, with forward slashes.")]
Language = Annotated[
    str, Meta(description="Of all text for people: en or zh. Keys, codes and names are the same in each.")
]


TensorFlow = Annotated[
    str, Meta(description="The TensorFlow adapter aimed at, and why; empty where the project has no TensorFlow.")
]


class Tool(msgspec.Struct, frozen=True):
    """What wrote this."""

    name: str
    version: str


class JsonEdit(msgspec.Struct, frozen=True):
    """Replace ``before``, which stands from ``start`` to ``end``, by ``after``."""

    start: Offset
    end: Offset
    before: str
    after: str


class JsonFinding(msgspec.Struct, frozen=True):
    """One thing to know about one place. Its edits belong together: all are applied, or none."""

    code: Annotated[str, Meta(pattern=r"^NPU\d+$")]
    name: str
    severity: Severity
    safety: Safety
    file: File
    line: Line
    column: Column
    end_line: Line
    end_column: Column
    message: str
    evidence: Evidence
    source: str
    subject: str
    advice: str
    edits: tuple[JsonEdit, ...]
    also: Annotated[
        tuple[Line, ...], Meta(description="Lines of further places that the same decision settles, if any.")
    ] = ()


class JsonFailure(msgspec.Struct, frozen=True):
    """A file that could not be processed properly."""

    file: File
    line: Annotated[int, Meta(ge=0, description="From 1; 0 where no line can be named.")]
    message: str
    advice: str


class JsonChange(msgspec.Struct, frozen=True):
    """One applied edit; its lines and columns are those of the original file."""

    file: File
    code: str
    name: str
    line: Line
    column: Column
    end_line: Line
    end_column: Column
    before: str
    after: str
    message: str


class Scan(msgspec.Struct, frozen=True, kw_only=True, tag_field="command", tag="scan"):
    """What ``npuify scan`` found."""

    version: Literal[1]
    tool: Tool
    root: str
    release: Release
    style: Annotated[str, Meta(description="How migrated code reads: npu, portable or auto.")]
    language: Language
    tensorflow: TensorFlow = ""
    summary: Summary
    verdict: Verdict
    ledger: Ledger
    findings: tuple[JsonFinding, ...]
    errors: tuple[JsonFailure, ...]


class Migration(msgspec.Struct, frozen=True, kw_only=True, tag_field="command", tag="migrate"):
    """What ``npuify migrate`` did. ``findings`` and ``summary`` are what is left, placed in the migrated files."""

    version: Literal[1]
    tool: Tool
    root: str
    destination: Annotated[
        str, Meta(description="Empty where nothing was written; the root where it was changed in place.")
    ]
    release: Release
    style: Annotated[str, Meta(description="How migrated code reads: npu, portable or auto.")]
    language: Language
    tensorflow: TensorFlow = ""
    summary_before: Summary
    """Of the source, before any edit."""
    summary: Summary
    verdict: Verdict
    ledger: Ledger
    """Of the source."""
    changed_files: tuple[File, ...]
    changes: tuple[JsonChange, ...]
    findings: tuple[JsonFinding, ...]
    errors: tuple[JsonFailure, ...]
    diff: Annotated[str, Meta(description="A unified diff; empty unless it was asked for.")]


class HeaderLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="header"):
    """The first line of JSON lines."""

    version: Literal[1]
    command: Literal["scan", "migrate"]
    tool: Tool
    root: str
    destination: str
    release: Release
    style: str
    language: Language
    tensorflow: TensorFlow = ""


class FindingLine(JsonFinding, frozen=True, tag_field="type", tag="finding"):
    """A line for a finding."""


class FailureLine(JsonFailure, frozen=True, tag_field="type", tag="error"):
    """A line for a file that could not be processed."""


class ChangeLine(JsonChange, frozen=True, tag_field="type", tag="change"):
    """A line for an applied edit."""


class SummaryLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="summary"):
    """The last line of JSON lines; where it is missing, the output was cut off."""

    summary: Summary
    verdict: Verdict
    ledger: Ledger


class LedgerLine(LedgerEntry, frozen=True, tag_field="type", tag="ledger"):
    """A line for a place that concerns CUDA, where the ledger was asked for."""


AnyLine = HeaderLine | FindingLine | FailureLine | ChangeLine | LedgerLine | SummaryLine


def json_in_pieces(result: ScanResult | MigrationResult, *, ledger: bool = False) -> Iterator[bytes]:
    """One JSON document, indented: first what comes before the findings."""
    scan, findings = (result, result.findings) if isinstance(result, ScanResult) else (result.scan, result.left)
    lists: dict[str, Iterable[Any]] = {
        "findings": (_finding(JsonFinding, one) for one in findings),
        "errors": (_error(JsonFailure, one) for one in in_order(scan.errors)),
    }
    if not isinstance(result, ScanResult):
        lists = {"changes": (_change(JsonChange, one) for one in result.changes), **lists}
    yield from document_in_pieces(_frame(result, ledger=ledger), lists, indented=indented)


def lines_in_pieces(result: ScanResult | MigrationResult, *, ledger: bool = False) -> Iterator[bytes]:
    """JSON lines: a header, a line for each change, finding and error, and a summary."""
    waiting = _lines(result, ledger=ledger)
    while some := list(islice(waiting, AT_ONCE)):
        yield b"".join(msgspec.json.format(encoded(line), indent=0) + b"\n" for line in some)


def _frame(result: ScanResult | MigrationResult, *, ledger: bool) -> Scan | Migration:
    """``result`` as it is written, without findings, errors and changes; with ``ledger`` the entries of the ledger."""
    if isinstance(result, ScanResult):
        return Scan(
            version=VERSION,
            tool=_tool(),
            root=result.root,
            release=in_language(result.release),
            style=result.style,
            language=result.language,
            tensorflow=result.tensorflow,
            summary=summarise(result, result.findings),
            verdict=in_language(judge(result)),
            ledger=in_language(ledger_of(result.ledger, whole=ledger)),
            findings=(),
            errors=(),
        )
    return Migration(
        version=VERSION,
        tool=_tool(),
        root=result.scan.root,
        destination=result.destination,
        release=in_language(result.scan.release),
        style=result.scan.style,
        language=result.scan.language,
        tensorflow=result.scan.tensorflow,
        summary_before=summarise(result.scan, result.scan.findings),
        summary=summarise(result.scan, result.left),
        verdict=in_language(judge(result)),
        ledger=in_language(ledger_of(result.scan.ledger, whole=ledger)),
        changed_files=result.changed_files,
        changes=(),
        findings=(),
        errors=(),
        diff=result.diff,
    )


def schema() -> str:
    """The JSON Schema of ``Scan`` and ``Migration``, with ``Line`` for JSON lines among its definitions."""
    from npuify.report.schemas import schema_json

    types = (Scan, Migration, AnyLine)
    (scan, migration, line), definitions = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    whole: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:npuify:report:{VERSION}",
        "title": "What npuify found and did",
        "description": "The output of `npuify scan` and `npuify migrate` with --format json.",
        "oneOf": [scan, migration],
        "$defs": {**definitions, "Line": {"description": "One line of --format jsonl.", **line}},
    }
    return schema_json(whole)


def _lines(result: ScanResult | MigrationResult, *, ledger: bool) -> Iterator[msgspec.Struct]:
    scan = result if isinstance(result, ScanResult) else result.scan
    yield HeaderLine(
        version=VERSION,
        command="scan" if isinstance(result, ScanResult) else "migrate",
        tool=_tool(),
        root=scan.root,
        destination="" if isinstance(result, ScanResult) else result.destination,
        release=in_language(scan.release),
        style=scan.style,
        language=scan.language,
        tensorflow=scan.tensorflow,
    )
    findings: Iterable[Finding]
    if isinstance(result, ScanResult):
        findings = result.findings
    else:
        findings = result.left
        yield from (_change(ChangeLine, change) for change in result.changes)
    yield from (_finding(FindingLine, finding) for finding in findings)
    yield from (_error(FailureLine, error) for error in in_order(scan.errors))
    if ledger:
        yield from (LedgerLine(**msgspec.structs.asdict(entry)) for entry in scan.ledger)
    yield SummaryLine(
        summary=summarise(scan, tuple(findings)),
        verdict=in_language(judge(result)),
        ledger=in_language(ledger_of(scan.ledger)),
    )


def _tool() -> Tool:
    return Tool("npuify", __version__)


def _finding(kind: type[JsonFinding], finding: Finding) -> JsonFinding:
    return kind(
        code=finding.code,
        name=finding.name,
        severity=finding.severity,
        safety=finding.safety,
        file=finding.file,
        line=finding.start.line,
        column=finding.start.column,
        end_line=finding.end.line,
        end_column=finding.end.column,
        message=finding.message,
        evidence=finding.evidence,
        source=finding.source,
        subject=finding.subject,
        advice=finding.advice,
        edits=tuple(JsonEdit(edit.start, edit.end, edit.before, edit.after) for edit in finding.edits),
        also=tuple(place.line for place in finding.also),
    )


def _error(kind: type[JsonFailure], error: FileError) -> JsonFailure:
    return kind(file=error.file, line=error.line, message=error.message, advice=error.advice)


def _change(kind: type[JsonChange], change: Change) -> JsonChange:
    return kind(
        file=change.file,
        code=change.code,
        name=change.name,
        line=change.start.line,
        column=change.start.column,
        end_line=change.end.line,
        end_column=change.end.column,
        before=change.before,
        after=change.after,
        message=change.message,
    )
