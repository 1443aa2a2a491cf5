"""Apply edits to a text, whole findings at a time."""

from __future__ import annotations

from bisect import bisect_right, insort
from typing import TYPE_CHECKING, NamedTuple

from npuify.language import phrase
from npuify.model import Finding, Safety
from npuify.rules.packages.extensions.replacing import CODE as REPLACING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from npuify.model import Edit


class EditError(Exception):
    """An edit does not fit the text: its span is out of range, or holds other text than the rule saw."""


class Applied(NamedTuple):
    """The new text, and what was put into it."""

    data: bytes
    findings: list[Finding]
    edits: list[Edit]


def wanted(findings: Iterable[Finding], *, unsafe: bool) -> list[Finding]:
    """The findings whose edits are to be applied.

    Extensions are replaced only where that was asked for, so that one need not ask again.
    """
    allowed = (Safety.SAFE, Safety.REVIEW) if unsafe else (Safety.SAFE,)
    return [
        finding for finding in findings if finding.edits and (finding.safety in allowed or finding.code == REPLACING)
    ]


def apply_findings(data: bytes, findings: Iterable[Finding]) -> Applied:
    """Apply the edits of findings to ``data``.

    A finding's edits are applied together or not at all. Where findings overlap, the one that begins first and reaches
    furthest wins; the others are left for the next round.

    Raises:
        EditError: an edit's span does not hold what the rule saw. Nothing is applied then.
    """
    taken: list[tuple[int, int]] = []  # in order, so that only neighbours have to be looked at
    accepted: list[Finding] = []
    for finding in sorted(findings, key=_extent):
        spans = sorted((edit.start, edit.end) for edit in finding.edits)
        if _overlap_within(spans):
            raise EditError(phrase("{code}: edits of one finding overlap", code=finding.code))
        if any(_overlaps(span, taken) for span in spans):
            continue
        accepted.append(finding)
        for span in spans:
            insort(taken, span)
    edits = sorted(edit for finding in accepted for edit in finding.edits)
    return Applied(apply_edits(data, edits), accepted, edits)


def _extent(finding: Finding) -> tuple[int, int]:
    return min(edit.start for edit in finding.edits), -max(edit.end for edit in finding.edits)


def _overlap_within(spans: list[tuple[int, int]]) -> bool:
    return any(first[1] > second[0] for first, second in zip(spans, spans[1:], strict=False))


def _overlaps(span: tuple[int, int], taken: list[tuple[int, int]]) -> bool:
    """Whether a span overlaps one of those taken, which are in order and do not overlap each other."""
    start, end = span
    place = bisect_right(taken, (end, end))
    while place:
        place -= 1
        other_start, other_end = taken[place]
        if other_end < start:
            return False
        if start < other_end and other_start < end:
            return True
        # Two insertions at one place have no order; one at the edge of a replacement has.
        if start == end == other_start == other_end:
            return True
    return False


def apply_edits(data: bytes, edits: Iterable[Edit]) -> bytes:
    """Replace the spans of ``edits``, which must be sorted and must not overlap.

    Raises:
        EditError: a span does not hold the text that its edit was made for.
    """
    pieces: list[bytes] = []
    position = 0
    for edit in edits:
        if not position <= edit.start <= edit.end <= len(data):
            raise EditError(
                phrase("the span {start}:{end} overlaps another or leaves the text", start=edit.start, end=edit.end)
            )
        if data[edit.start : edit.end] != edit.before.encode("utf-8", "surrogatepass"):
            raise EditError(
                phrase(
                    "the text at {start}:{end} is not {before!r}", start=edit.start, end=edit.end, before=edit.before
                )
            )
        pieces += [data[position : edit.start], edit.after.encode("utf-8", "surrogatepass")]
        position = edit.end
    pieces.append(data[position:])
    return b"".join(pieces)


class OffsetMap:
    """Where an offset of an edited text stood in the text before any round of edits, and the other way round."""

    def __init__(self) -> None:
        self._rounds: list[tuple[list[int], list[int]]] = []
        self._edits: list[list[tuple[int, int, int]]] = []

    def add(self, edits: Iterable[Edit]) -> None:
        """Remember one round of edits, given with offsets into the text of that round."""
        ends, shifts = [0], [0]
        shift = 0
        made = list(edits)
        for edit in made:
            shift += len(edit.after.encode("utf-8", "surrogatepass")) - (edit.end - edit.start)
            ends.append(edit.end + shift)
            shifts.append(shift)
        self._rounds.append((ends, shifts))
        self._edits.append([(edit.start, edit.end, shift) for edit, shift in zip(made, shifts[1:], strict=True)])

    def original(self, offset: int) -> int:
        """The offset in the first text; for new text, an offset at the edit that brought it."""
        for ends, shifts in reversed(self._rounds):
            offset = max(0, offset - shifts[bisect_right(ends, offset) - 1])
        return offset

    def edited(self, offset: int) -> int:
        """The offset in the edited text; for what an edit replaced, that of what it put there."""
        for edits in self._edits:
            shift = 0
            for start, end, after in edits:
                if offset < max(start, end):  # what is put in before a place moves it
                    offset = min(offset, start)
                    break
                shift = after
            offset += shift
        return offset
