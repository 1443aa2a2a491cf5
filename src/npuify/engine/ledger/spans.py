"""The stretches of a file that something speaks of: a finding, its edits, or what settles a place without one."""

from __future__ import annotations

import ast
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from npuify.model import State

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from npuify.engine.ledger.vocabulary import Occurrence
    from npuify.model import Finding
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic
    from npuify.source.text import Text

MOST_LINES = 40
"""Lines of a finding's place beyond which it speaks of its first line only."""


class Span(NamedTuple):
    """A stretch of a file that something speaks of: a finding's code, or the id of a reason."""

    start: int
    end: int
    state: State
    by: str


class Spans:
    """The stretches of one file that findings speak of."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._spans = sorted(spans)
        self._starts = [span.start for span in self._spans]
        reach = 0
        self._reach = []
        for span in self._spans:
            reach = max(reach, span.end)
            self._reach.append(reach)

    def about(self, place: Occurrence) -> Span | None:
        """What speaks of a place: an edit first, then the finding with the shortest stretch."""
        best: Span | None = None
        index = bisect_right(self._starts, place.end - 1) - 1
        while index >= 0 and self._reach[index] > place.start:
            span = self._spans[index]
            if span.start < place.end and place.start < span.end and (best is None or _rank(span) < _rank(best)):
                best = span
            index -= 1
        return best


def _rank(span: Span) -> tuple[int, int]:
    order = (State.EDITED, State.REPORTED, State.CLEARED)
    return order.index(span.state), span.end - span.start


def spans_of(findings: Iterable[Finding], text: Text) -> Iterator[Span]:
    """The stretches of a file's text that findings about it speak of."""
    starts = text.line_starts
    for finding in findings:
        for edit in finding.edits:
            if edit.end > edit.start:
                yield Span(edit.start, edit.end, State.EDITED, finding.code)
        start = text.offset(finding.start.line, finding.start.column)
        end = text.offset(finding.end.line, finding.end.column)
        if finding.end.line - finding.start.line > MOST_LINES:
            line = finding.start.line
            end = starts[line] if line < len(starts) else len(text.data)
        yield Span(start, max(end, start + 1), State.REPORTED, finding.code)


def settled_spans(diagnostic: Diagnostic, file: PythonFile) -> Iterator[Span]:
    """Where a rule had something to say that the style of the run settles without a finding."""
    place, source = diagnostic.place, file.source
    by = "at-run-time" if file.plan.style == "auto" else "handles-npu"
    start, end = place if isinstance(place, tuple) else (source.start(place), source.end(place))
    if not isinstance(place, ast.stmt) or isinstance(place, (ast.Import, ast.ImportFrom)):
        yield Span(start, end, State.CLEARED, by)
    for edit in diagnostic.edits:
        if edit.end > edit.start:
            yield Span(edit.start, edit.end, State.CLEARED, by)


def suppressed_spans(findings: Iterable[Finding], text: Text) -> Iterator[Span]:
    """What findings speak of that a comment silences."""
    for span in spans_of(findings, text):
        yield span._replace(state=State.CLEARED, by="suppressed")
