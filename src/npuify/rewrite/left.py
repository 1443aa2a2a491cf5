"""What a migrated file leaves to do, told with the places of the migrated text."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from npuify.model import Edit, Position, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from npuify.model import Change, Finding
    from npuify.rewrite.edits import OffsetMap
    from npuify.source.text import Text

_RENAMES: Final = frozenset(
    "NPU100 NPU101 NPU103 NPU105 NPU106 NPU107 NPU110 NPU111 NPU113 NPU115 NPU118 NPU119 NPU120 NPU301 NPU302".split()
)
"""Rules whose edits say a device or a back end otherwise, or import what that takes: what the code does stays."""


def still_to_do(
    found: Sequence[Finding],
    last: Sequence[Finding],
    changes: Sequence[Change],
    before: Text,
    after: Text,
    offsets: OffsetMap,
    *,
    made: Sequence[Finding],
    python: bool,
) -> list[Finding]:
    """What is left of a file's findings.

    Args:
        found: those of the original.
        last: those of the migrated text.
        changes: what was changed.
        before, after: both texts.
        offsets: leads from one to the other.
        made: those of ``found`` whose edits were wanted.
        python: whether it is Python.
    """
    wanted = {id(finding) for finding in made}
    unmade = [finding for finding in found if id(finding) not in wanted]
    left = _still_offered(last, unmade, before, after, offsets)
    hidden = _hidden(left, unmade, changes, before, after, offsets) if python else []
    return sorted([*left, *hidden], key=lambda one: (one.start, one.end, one.code)) if hidden else left


def _still_offered(
    left: Sequence[Finding], unmade: Sequence[Finding], before: Text, after: Text, offsets: OffsetMap
) -> list[Finding]:
    """What is left, with the edits to review that the first round offered, and as grave as it was there.

    An NPU name that was put beside such a place makes it look as if the project had treated the NPU by itself.
    """
    firsts = {(finding.start, finding.code): finding for finding in unmade}
    result = []
    for finding in left:
        place = after.offset(finding.start.line, finding.start.column)
        origin = before.position(offsets.original(place))
        first = None if finding.edits else firsts.get((Position(*origin), finding.code))
        moved = () if first is None else _moved(first.edits, place - before.offset(*origin), after.data)
        if first is None or not (moved or _is_only_softened(finding, first)):
            result.append(finding)
        else:
            result.append(replace(first, start=finding.start, end=finding.end, edits=moved))
    return result


def _is_only_softened(finding: Finding, first: Finding) -> bool:
    """Whether the same is said as at first, and besides that the code around treats the NPU: by an edit of this run."""
    return (
        not first.edits
        and finding.severity is Severity.INFO is not first.severity
        and finding.message.startswith(first.message)
    )


def _moved(edits: Sequence[Edit], by: int, data: bytes) -> tuple[Edit, ...]:
    """The edits, further on in a text; none where it does not hold there what they replace."""
    moved = tuple(Edit(edit.start + by, edit.end + by, edit.before, edit.after) for edit in edits)
    return moved if all(data[edit.start : edit.end] == edit.before.encode() for edit in moved) else ()


def _hidden(
    left: Sequence[Finding],
    found: Sequence[Finding],
    changes: Sequence[Change],
    before: Text,
    after: Text,
    offsets: OffsetMap,
) -> list[Finding]:
    """What the first round found and nobody mended, but which is not known again by its new names or places.

    That a global rank numbers the card is no less true of ``torch.device(compute_device.type, rank)``. And a value that
    goes through other files is lost in a later round, which shows them with the places of an earlier one.
    """
    seen = {
        (finding.code, before.position(offsets.original(after.offset(finding.start.line, finding.start.column)))[0])
        for finding in left
    }
    unmade = Counter(finding.code for finding in found)
    still = Counter(finding.code for finding in left)
    changed_on = _changed_on(changes)
    hidden = []
    for finding in found:
        if (finding.code, finding.start.line) in seen:
            continue
        if still[finding.code] >= unmade[finding.code]:
            continue  # what is said once a file is said of another place now
        lines = range(finding.start.line, finding.end.line + 1)
        mended = {code for line in lines for code in changed_on.get(line, ())}
        if mended - _RENAMES or finding.code in mended:
            continue
        start = offsets.edited(before.offset(finding.start.line, finding.start.column))
        end = max(start, offsets.edited(before.offset(finding.end.line, finding.end.column)))
        by = start - before.offset(finding.start.line, finding.start.column)
        moved = _moved(finding.edits, by, after.data)
        if finding.edits and not moved:
            continue  # what it is about was replaced
        hidden.append(
            replace(finding, start=Position(*after.position(start)), end=Position(*after.position(end)), edits=moved)
        )
    return hidden


def _changed_on(changes: Sequence[Change]) -> Mapping[int, set[str]]:
    """For each line of the original, the codes of the changes that touch it."""
    codes: defaultdict[int, set[str]] = defaultdict(set)
    for change in changes:
        for line in range(change.start.line, change.end.line + 1):
            codes[line].add(change.code)
    return codes
