"""From what npuify says to the types of the language server protocol."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lsprotocol import types

from npuify.model import Severity
from npuify.report.addresses import rule_address

if TYPE_CHECKING:
    from npuify.editor.lines import Replacement
    from npuify.model import FileError, Finding

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)?")


class Lines:
    """The lines of a text, and columns in the units that the client counts.

    Args:
        text: the document.
        encoding: ``utf-16`` (the protocol's default), ``utf-8`` or ``utf-32``.
    """

    def __init__(self, text: str, encoding: str = "utf-16") -> None:
        self._lines = [match[0].rstrip("\r\n") for match in _LINE.finditer(text)]
        self._encoding = encoding

    def line(self, number: int) -> str:
        """The line ``number``, from 0; empty behind the end."""
        return self._lines[number] if number < len(self._lines) else ""

    def position(self, line: int, column: int) -> types.Position:
        """From a line and a column in characters, both from 1."""
        before = self.line(line - 1)[: column - 1]
        return types.Position(max(line, 1) - 1, self._units(before))

    def begin(self, number: int) -> types.Position:
        """The begin of the line ``number``, from 0; behind the last one, its end."""
        if number < len(self._lines):
            return types.Position(number, 0)
        return types.Position(len(self._lines) - 1, self._units(self._lines[-1]))

    def column(self, position: types.Position) -> int:
        """The column of a client's position, in characters, from 0."""
        line, units = self.line(position.line), 0
        for column, char in enumerate(line):
            units += self._units(char)
            if units > position.character:
                return column
        return len(line)

    def _units(self, text: str) -> int:
        if self._encoding == "utf-8":
            return len(text.encode("utf-8", "surrogatepass"))
        if self._encoding == "utf-32":
            return len(text)
        return len(text.encode("utf-16-le", "surrogatepass")) // 2


def diagnostic(finding: Finding, place: types.Range) -> types.Diagnostic:
    """A finding that stands at a place."""
    address = rule_address(finding.code)
    return types.Diagnostic(
        range=place,
        code_description=types.CodeDescription(href=address) if address else None,
        message=finding.message + (f"\n{finding.advice}" if finding.advice else ""),
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        source="npuify",
        data={"name": finding.name, "safety": finding.safety.value, "subject": finding.subject},
    )


def span(finding: Finding, lines: Lines) -> types.Range:
    """Where a finding stands."""
    start = lines.position(finding.start.line, finding.start.column)
    return types.Range(start, lines.position(finding.end.line, finding.end.column))


def spans(finding: Finding, lines: Lines) -> list[types.Range]:
    """The same with the further places that it tells of, as an open document shows each; their ends are not known."""
    further = [lines.position(one.line, one.column) for one in finding.also]
    return [span(finding, lines), *(types.Range(one, one) for one in further)]


def failure(error: FileError, place: types.Position) -> types.Diagnostic:
    """What could not be processed."""
    return types.Diagnostic(
        range=types.Range(place, place),
        message=error.message + (f"\n{error.advice}" if error.advice else ""),
        severity=types.DiagnosticSeverity.Error,
        source="npuify",
    )


def touches(one: types.Range, other: types.Range) -> bool:
    """Whether two ranges share a place, their ends included."""
    return _at(one.start) <= _at(other.end) and _at(other.start) <= _at(one.end)


def _at(position: types.Position) -> tuple[int, int]:
    return position.line, position.character


def text_edit(made: Replacement, lines: Lines) -> types.TextEdit:
    """Lines that are replaced."""
    return types.TextEdit(types.Range(lines.begin(made.first), lines.begin(made.last)), made.text)
