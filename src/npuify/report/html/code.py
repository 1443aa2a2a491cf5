"""The lines of code that a finding or a change is about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from npuify.model import MigrationResult, ScanResult
from npuify.report.html.diffs import block_at, narrowed, parse, patched
from npuify.source.text import Text, UnreadableText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.model import Change, Edit, Finding
    from npuify.report.html.diffs import Line

Shown = list[tuple[str, int, str]]
"""Lines to show: " ", "-" or "+", the line's number, its text."""

_MOST_LINES: Final = 14
_WIDEST: Final = 300


class Code:
    """Shows the code of one result. A file that is gone, or was changed since, is not shown."""

    def __init__(self, result: ScanResult | MigrationResult) -> None:
        scan = result if isinstance(result, ScanResult) else result.scan
        self._root = Path(scan.root)
        self.migrated = isinstance(result, MigrationResult)
        self._in_place = isinstance(result, MigrationResult) and result.destination == scan.root
        self.diffs: dict[str, list[list[Line]]] = parse(result.diff) if isinstance(result, MigrationResult) else {}
        self._file = ""
        self._text: Text | None = None
        self._lines: list[str] = []

    def of_change(self, change: Change) -> Shown:
        """The lines that a change removed and added."""
        block = block_at(self.diffs.get(change.file, []), change.start.line)
        return _clipped([(one.kind, one.old or one.new, one.text) for one in block])

    def of_finding(self, finding: Finding) -> Shown:
        """What an offered edit would do; where there is none, the lines of the finding with those around it."""
        self._open(finding.file)
        if finding.edits and not self.migrated and self._text is not None:
            shown = _edited(self._text, finding.edits)
            if shown:
                return _clipped(shown)
        first, last = max(finding.start.line - 1, 1), min(finding.end.line + 1, len(self._lines))
        around = [(" ", number, self._lines[number - 1]) for number in range(first, last + 1)]
        return _clipped(around, column=finding.start.column - 1)

    def _open(self, file: str) -> None:
        if file == self._file:
            return
        self._file, self._text, self._lines = file, None, []
        try:
            self._text = Text((self._root / file).read_bytes())
        except (OSError, ValueError, UnreadableText):
            return
        lines = self._text.data.decode("utf-8", "surrogatepass").split("\n")
        if file in self.diffs and not self._in_place:
            lines = patched(lines, self.diffs[file]) or []
        self._lines = lines


def _edited(text: Text, edits: Sequence[Edit]) -> list[tuple[str, int, str]]:
    """The lines of ``edits`` before and after; none where the file is not the one that the edits were made for."""
    shown: list[tuple[str, int, str]] = []
    data, rest = text.data, sorted(edits)
    while rest:
        start = data.rfind(b"\n", 0, rest[0].start) + 1
        end = start
        group: list[Edit] = []
        while rest and (rest[0].start <= end or not group):
            edit = rest.pop(0)
            if data[edit.start : edit.end] != edit.before.encode("utf-8", "surrogatepass"):
                return []
            group.append(edit)
            end = data.find(b"\n", edit.end)
            end = end if end >= 0 else len(data)
        after, at = b"", start
        for edit in group:
            if edit.start < at:
                return []
            after += data[at : edit.start] + edit.after.encode("utf-8", "surrogatepass")
            at = edit.end
        after += data[at:end]
        number = text.line_of(start)
        for kind, lines in (("-", data[start:end]), ("+", after)):
            texts = lines.decode("utf-8", "surrogatepass").split("\n")
            shown += [(kind, number + offset, one) for offset, one in enumerate(texts)]
    return shown


def _clipped(lines: Sequence[tuple[str, int, str]], *, column: int = 0) -> Shown:
    """As many lines as a person reads here, and of a long one the part that matters."""
    texts = narrowed([(kind, text.rstrip("\r")) for kind, _, text in lines], _WIDEST, column=column)
    shown = [(kind, number, text) for (kind, number, _), text in zip(lines, texts, strict=True)]
    return shown if len(shown) <= _MOST_LINES else [*shown[:_MOST_LINES], (" ", 0, "…")]
