"""Migrate one file: apply edits round by round until nothing changes any more."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from npuify.engine.traced import proven
from npuify.model import Change, Edit, FileError, Finding, Position
from npuify.rewrite.edits import EditError, OffsetMap, apply_findings, wanted
from npuify.source.text import Text, UnreadableText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.engine.worker import Worker
    from npuify.project.traced import TracedPlace

_DEFECT = "please report this as a defect of npuify"
MAX_ROUNDS = 12
"""Rounds after which a file counts as not settling; real files need two or three."""


class MigratedFile(NamedTuple):
    """What became of one file. ``raw`` is None where nothing changed."""

    relative: str
    raw: bytes | None
    found: list[Finding]
    left: list[Finding]
    changes: list[Change]
    errors: list[FileError]


def migrate_file(
    relative: str, raw: bytes, worker: Worker, *, unsafe: bool, kind: str = "", traced: Sequence[TracedPlace] = ()
) -> MigratedFile:
    """Apply all wanted edits to a file; ``traced`` says what the program was seen to do in it.

    The result parses, and a second run on it changes nothing; where either cannot be had, the file stays as it was and
    an error says so.
    """
    found, errors, _ = worker.analyse(relative, raw, whole=False, kind=kind)
    found = proven(found, traced, lambda finding: finding.start.line)
    if not wanted(found, unsafe=unsafe):
        return MigratedFile(relative, None, found, found, [], errors)
    try:
        text = Text(raw)
        if not worker.is_valid(relative, text.data, kind):
            # Only a part that was not looked at is broken; the whole file decides.
            found, errors, _ = worker.analyse(relative, raw, whole=True, kind=kind)
            return MigratedFile(relative, None, found, found, [], errors)
        done = _rounds(relative, text, worker, found, unsafe=unsafe, kind=kind, known=len(errors), traced=traced)
        return done._replace(errors=[*errors, *done.errors])
    except (EditError, UnreadableText, _NotSettling) as error:
        failure = FileError(relative, f"was left as it is: {error}", advice=_DEFECT)
        return MigratedFile(relative, None, found, found, [], [*errors, failure])


class _NotSettling(Exception):
    pass


def _rounds(
    relative: str,
    text: Text,
    worker: Worker,
    found: list[Finding],
    *,
    unsafe: bool,
    kind: str,
    known: int,
    traced: Sequence[TracedPlace],
) -> MigratedFile:
    """As :func:`migrate_file`; ``known`` counts the parts of the file that could not be treated from the start."""
    current, raw, findings = text, b"", found
    offsets = OffsetMap()
    changes: list[Change] = []
    problems: list[FileError] = []
    needs_torch_npu = False
    # What the first round leaves stays left: later rounds see the names that it put beside it, or took away.
    kept = {(finding.start, finding.code) for finding in found if not finding.edits}
    for _ in range(MAX_ROUNDS):
        chosen = [
            finding
            for finding in wanted(findings, unsafe=unsafe)
            if (Position(*text.position(offsets.original(finding.edits[0].start))), finding.code) not in kept
        ]
        if not chosen and raw and not needs_torch_npu:
            break
        applied = apply_findings(current.data, chosen)
        if applied.edits and not worker.is_valid(relative, applied.data, kind):
            # One edit that breaks the text must not keep all the others from being made.
            broken = {
                (Position(*text.position(offsets.original(finding.edits[0].start))), finding.code)
                for finding in applied.findings
                if not worker.is_valid(relative, apply_findings(current.data, [finding]).data, kind)
            }
            if not broken:
                raise EditError("the edited file would not parse")
            kept |= broken
            problems += [
                FileError(
                    relative, f"an edit of {code} was left out: the file would not parse with it", place.line, _DEFECT
                )
                for place, code in sorted(broken)
            ]
            continue
        if not applied.edits and raw:
            break
        needs_torch_npu = needs_torch_npu or any(finding.needs_torch_npu for finding in applied.findings)
        changes += [_change(finding, text, offsets) for finding in applied.findings]
        offsets.add(applied.edits)
        raw = current.encode(applied.data)
        findings, errors, _ = worker.analyse(
            relative, raw, needs_torch_npu=needs_torch_npu, whole=False, kind=kind, is_later_round=True
        )
        if len(errors) > known:
            raise EditError(errors[-1].message)
        findings = proven(findings, traced, lambda one: text.position(offsets.original(one.edits[0].start))[0])
        current = Text(raw)
    else:
        raise _NotSettling(f"its edits do not settle after {MAX_ROUNDS} rounds")
    changes.sort(key=lambda change: (change.start, change.end, change.code))
    made = {id(finding) for finding in wanted(found, unsafe=unsafe)}
    offered = [finding for finding in found if finding.edits and id(finding) not in made]
    findings = _still_offered(findings, offered, text, current, offsets)
    if relative.endswith((".py", ".pyi", ".ipynb")):
        findings = _with_hidden(findings, found, changes, text, current, offsets)
    return MigratedFile(relative, raw if changes else None, found, findings, changes, problems)


def _still_offered(
    left: list[Finding], offered: list[Finding], before: Text, after: Text, offsets: OffsetMap
) -> list[Finding]:
    """What is left, with the edits to review that the first round ``offered``.

    An NPU name that was put beside such a place makes it look as if the project had treated the NPU by itself.
    """
    firsts = {(finding.start, finding.code): finding for finding in offered}
    told = []
    for finding in left:
        place = after.offset(finding.start.line, finding.start.column)
        origin = before.position(offsets.original(place))
        first = None if finding.edits else firsts.get((Position(*origin), finding.code))
        moved = () if first is None else _moved(first.edits, place - before.offset(*origin), after.data)
        told.append(
            finding if first is None or not moved else replace(first, start=finding.start, end=finding.end, edits=moved)
        )
    return told


_RENAMES: Final = frozenset(
    "NPU100 NPU101 NPU103 NPU105 NPU106 NPU107 NPU110 NPU111 NPU113 NPU115 NPU118 NPU119 NPU120 NPU301 NPU302".split()
)
"""Rules whose edits say a device or a back end otherwise, or import what that takes: what the code does stays."""


def _with_hidden(
    left: list[Finding], found: list[Finding], changes: list[Change], before: Text, after: Text, offsets: OffsetMap
) -> list[Finding]:
    """What is left, with what the first round found and nobody mended, but which is not known again by its new names.

    That a global rank numbers the card is no less true of ``torch.device(compute_device.type, rank)``.
    """
    seen = {
        (finding.code, before.position(offsets.original(after.offset(finding.start.line, finding.start.column)))[0])
        for finding in left
    }
    offered_nothing = Counter(finding.code for finding in found if not finding.edits)
    still = Counter(finding.code for finding in left)
    changed_on: defaultdict[int, set[str]] = defaultdict(set)
    for change in changes:
        for line in range(change.start.line, change.end.line + 1):
            changed_on[line].add(change.code)
    hidden = []
    for finding in found:
        if finding.edits or (finding.code, finding.start.line) in seen:
            continue
        if still[finding.code] >= offered_nothing[finding.code]:
            continue  # what is said once a file is said of another place now
        lines = range(finding.start.line, finding.end.line + 1)
        mended = {code for line in lines for code in changed_on.get(line, ())}
        if mended - _RENAMES or finding.code in mended:
            continue
        start = offsets.edited(before.offset(finding.start.line, finding.start.column))
        end = max(start, offsets.edited(before.offset(finding.end.line, finding.end.column)))
        hidden.append(replace(finding, start=Position(*after.position(start)), end=Position(*after.position(end))))
    return sorted([*left, *hidden], key=lambda one: (one.start, one.end, one.code)) if hidden else left


def _moved(edits: Sequence[Edit], by: int, data: bytes) -> tuple[Edit, ...]:
    """The edits, further on in a text; none where it does not hold there what they replace."""
    moved = tuple(Edit(edit.start + by, edit.end + by, edit.before, edit.after) for edit in edits)
    return moved if all(data[edit.start : edit.end] == edit.before.encode() for edit in moved) else ()


def _change(finding: Finding, text: Text, offsets: OffsetMap) -> Change:
    """One change a finding, with the original's lines and the edited text from its first edit to its last."""
    first, last = finding.edits[0], finding.edits[-1]
    start, end = offsets.original(first.start), offsets.original(last.end)
    single = len(finding.edits) == 1
    return Change(
        file=finding.file,
        code=finding.code,
        name=finding.name,
        start=Position(*text.position(start)),
        end=Position(*text.position(max(start, end))),
        before=first.before if single else " … ".join(edit.before for edit in finding.edits),
        after=first.after if single else " … ".join(edit.after for edit in finding.edits),
        message=finding.message,
    )
