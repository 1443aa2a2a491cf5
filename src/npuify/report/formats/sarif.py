"""SARIF 2.1.0, which code-scanning services and editors read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from npuify.language import phrase, told
from npuify.model import ScanResult, Severity
from npuify.report.addresses import rule_address
from npuify.report.json_pieces import document_in_pieces, with_escapes
from npuify.report.narrow import fingerprints
from npuify.report.places import Places, relative_uri
from npuify.report.summary import in_order
from npuify.source.text import Text, UnreadableText
from npuify.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.model import Edit, FileError, Finding, MigrationResult

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_ROOT = "SRCROOT"


def in_pieces(result: ScanResult | MigrationResult) -> Iterator[bytes]:
    """One run. Edits become fixes where the file still holds what the rule saw; it is read again to place them."""
    scan, findings = (result, result.findings) if isinstance(result, ScanResult) else (result.scan, result.left)
    places = Places(result)
    rules = _rules(findings)
    index = {rule["id"]: number for number, rule in enumerate(rules)}
    texts = _Texts(Path(places.root))
    version = __version__
    run = {
        "tool": {"driver": {"name": "npuify", "version": version, "semanticVersion": version, "rules": rules}},
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [_notification(error) for error in in_order(scan.errors)],
            }
        ],
        "originalUriBaseIds": {_ROOT: {"uri": places.root_uri()}},
        "columnKind": "unicodeCodePoints",
        "results": [],
        "properties": {
            "torch_npu": scan.release.torch_npu,
            "torch": scan.release.torch,
            "cann": scan.release.cann,
            "reason": told(scan.release.reason),
            **({"tensorflow": scan.tensorflow} if scan.tensorflow else {}),
        },
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    results = {"results": _results(findings, index, texts)}
    yield from document_in_pieces(log, results, depth=3, indented=with_escapes)


def _rules(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    first: dict[str, Finding] = {}
    for finding in findings:
        first.setdefault(finding.code, finding)
    return [
        {
            "id": code,
            "name": "".join(part.capitalize() for part in finding.name.split("-")),
            "shortDescription": {"text": finding.name.replace("-", " ")},
            "help": {"text": phrase("npuify explain {code}", code=code)},
            **({"helpUri": address} if (address := rule_address(code)) else {}),
            "defaultConfiguration": {"level": _LEVELS[finding.severity]},
        }
        for code, finding in sorted(first.items())
    ]


def _results(findings: Sequence[Finding], index: dict[str, int], texts: _Texts) -> Iterator[dict[str, Any]]:
    for finding, mark in zip(findings, fingerprints(findings), strict=True):
        result: dict[str, Any] = {
            "ruleId": finding.code,
            "ruleIndex": index[finding.code],
            "level": _LEVELS[finding.severity],
            "message": {"text": finding.message + (f"\n{finding.advice}" if finding.advice else "")},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": _artifact(finding.file),
                        "region": {
                            "startLine": finding.start.line,
                            "startColumn": finding.start.column,
                            "endLine": finding.end.line,
                            "endColumn": finding.end.column,
                        },
                    }
                }
            ],
            "partialFingerprints": {"npuifyPlace/v1": mark},
            "properties": {
                "safety": finding.safety.value,
                "evidence": finding.evidence.value,
                "source": finding.source,
                "subject": finding.subject,
            },
        }
        replacements = [texts.replacement(finding.file, edit) for edit in finding.edits]
        placed = [replacement for replacement in replacements if replacement is not None]
        if placed and len(placed) == len(replacements):
            result["fixes"] = [
                {
                    "description": {"text": f"{finding.code} {finding.name} ({finding.safety.value})"},
                    "artifactChanges": [{"artifactLocation": _artifact(finding.file), "replacements": placed}],
                }
            ]
        yield result


def _artifact(file: str) -> dict[str, str]:
    return {"uri": relative_uri(file), "uriBaseId": _ROOT}


def _notification(error: FileError) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": _artifact(error.file)}
    if error.line:
        place["region"] = {"startLine": error.line}
    text = error.message + (f"\n{error.advice}" if error.advice else "")
    return {"level": "error", "message": {"text": text}, "locations": [{"physicalLocation": place}]}


class _Texts:
    """The files of the findings, which are needed to tell the lines and columns of an edit; the last one is kept."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._file = ""
        self._text: Text | None = None

    def replacement(self, file: str, edit: Edit) -> dict[str, Any] | None:
        """The edit as SARIF writes it, or None where the file has changed or cannot be read."""
        if file != self._file:
            self._file = file
            try:
                self._text = Text((self._root / file).read_bytes())
            except (OSError, ValueError, UnreadableText):
                self._text = None
        if self._text is None or self._text.data[edit.start : edit.end] != edit.before.encode("utf-8", "surrogatepass"):
            return None
        line, column = self._text.position(edit.start)
        end_line, end_column = self._text.position(edit.end)
        region = {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}
        return {"deletedRegion": region, "insertedContent": {"text": edit.after}}
