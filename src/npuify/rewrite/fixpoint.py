"""Migrate one file: apply edits round by round until nothing changes any more."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from npuify.engine.ledger.unknown import RULE as UNKNOWN
from npuify.engine.traced import proven
from npuify.language import phrase
from npuify.model import Change, FileError, Finding, LedgerEntry, Position, State
from npuify.rewrite.edits import Applied, EditError, OffsetMap, apply_findings, wanted
from npuify.rewrite.left import still_to_do
from npuify.source.text import Text, UnreadableText

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from npuify.engine.worker import Worker
    from npuify.project.traced import TracedPlace

    Decides = Callable[[Position, str], bool | None]
    """What a person decided on the edits of a code at a place of the original; None: nothing."""

_DEFECT = "please report this as a defect of npuify"
_BY_STYLE = "at-run-time"
_OPENING = re.compile(r"[A-Za-z]{0,2}(?:'{3}|\"{3}|'|\")")
MAX_ROUNDS = 12
"""Rounds after which a file counts as not settling; real files need two or three."""


class MigratedFile(NamedTuple):
    """What became of one file. ``raw`` is None where nothing changed; ``ledger`` and ``digest`` are of the original."""

    relative: str
    raw: bytes | None
    found: list[Finding]
    left: list[Finding]
    changes: list[Change]
    errors: list[FileError]
    ledger: list[LedgerEntry] = []  # noqa: RUF012 - nobody adds to it
    digest: bytes = b""
    """The SHA-256 of the file that was read; empty where that does not matter."""


class _Job(NamedTuple):
    """What is the same in all rounds of a file.

    ``known_errors`` counts the parts of it that could not be treated from the start.
    """

    relative: str
    kind: str
    original: Text
    worker: Worker
    unsafe: bool
    known_errors: int
    traced: Sequence[TracedPlace]
    decides: Decides | None

    def wanted(self, findings: Sequence[Finding], offsets: OffsetMap) -> list[Finding]:
        """The findings whose edits are to be applied: by their safety, where nobody decided otherwise."""
        usual = wanted(findings, unsafe=self.unsafe)
        if self.decides is None:
            return usual
        safe = {id(finding) for finding in usual}
        chosen = []
        for finding in findings:
            if finding.edits:
                said = self.decides(*_origin(finding, self, offsets))
                if id(finding) in safe if said is None else said:
                    chosen.append(finding)
        return chosen


class _State(NamedTuple):
    """A file after some rounds. ``raw`` is empty before the first."""

    text: Text
    raw: bytes
    findings: list[Finding]
    needs_torch_npu: bool = False


_Origin = tuple[Position, str]
"""Where a finding's first edit is in the original, and its code."""


class Begun(NamedTuple):
    """A file after its first round of edits."""

    relative: str
    raw: bytes
    kind: str
    unsafe: bool
    traced: Sequence[TracedPlace]
    found: list[Finding]
    errors: list[FileError]
    ledger: list[LedgerEntry]
    applied: Applied
    left_alone: set[_Origin]
    """The edits that would have broken the file."""
    problems: list[FileError]

    @property
    def edited(self) -> bytes:
        """What the file holds now."""
        return Text(self.raw).encode(self.applied.data)


def migrate_file(
    relative: str,
    raw: bytes,
    worker: Worker,
    *,
    unsafe: bool,
    kind: str = "",
    traced: Sequence[TracedPlace] = (),
    decides: Decides | None = None,
    later: Worker | None = None,
) -> MigratedFile:
    """Apply all wanted edits to a file.

    The result parses, and a second run on it changes nothing; where either cannot be had, the file stays as it was and
    an error says so.

    Args:
        unsafe: also make edits that are right in the usual case only.
        traced: what the program was seen to do in the file.
        decides: given the place of a finding's first edit in the original, and its code, whether that finding's edits
            are made; its answer None leaves it to their safety.
        later: analyses the file once it is edited, and sees the project's other files as edits made them.
    """
    begun = begin_file(relative, raw, worker, unsafe=unsafe, kind=kind, traced=traced, decides=decides)
    return begun if isinstance(begun, MigratedFile) else finish_file(begun, later or worker, decides=decides)


def begin_file(
    relative: str,
    raw: bytes,
    worker: Worker,
    *,
    unsafe: bool,
    kind: str = "",
    traced: Sequence[TracedPlace] = (),
    decides: Decides | None = None,
) -> MigratedFile | Begun:
    """The first round of :func:`migrate_file`; the whole of it where there is nothing to edit."""
    found, errors, _, ledger = worker.analyse(relative, raw, whole=False, kind=kind, keeps_ledger=True)
    found = proven(found, traced, lambda finding: finding.start.line)
    if not any(finding.edits for finding in found) or (decides is None and not wanted(found, unsafe=unsafe)):
        return MigratedFile(relative, None, found, found, [], errors, ledger)
    try:
        text = Text(raw)
        if not worker.is_valid(relative, text.data, kind):
            # Only a part that was not parsed is broken; the whole file decides.
            found, errors, _, ledger = worker.analyse(relative, raw, whole=True, kind=kind, keeps_ledger=True)
            return MigratedFile(relative, None, found, found, [], errors, ledger)
        job = _Job(relative, kind, text, worker, unsafe, len(errors), traced, decides)
        if not job.wanted(found, OffsetMap()):
            return MigratedFile(relative, None, found, found, [], errors, ledger)
        applied, broken, problems = _first_round(job, found)
        return Begun(relative, raw, kind, unsafe, traced, found, errors, ledger, applied, broken, problems)
    except (EditError, UnreadableText, _NotSettling) as error:
        return _as_it_was(relative, found, errors, ledger, error)


def finish_file(begun: Begun, worker: Worker, *, decides: Decides | None = None) -> MigratedFile:
    """The rounds after the first one.

    Args:
        begun: the file after its first round.
        worker: sees the project's other files as their first round left them.
        decides: as :func:`begin_file` was given it.
    """
    try:
        known = len(begun.errors)
        job = _Job(begun.relative, begun.kind, Text(begun.raw), worker, begun.unsafe, known, begun.traced, decides)
        done = _rounds(job, begun)
        return done._replace(errors=[*begun.errors, *done.errors], ledger=begun.ledger)
    except (EditError, UnreadableText, _NotSettling) as error:
        return _as_it_was(begun.relative, begun.found, begun.errors, begun.ledger, error)


def _as_it_was(
    relative: str, found: list[Finding], errors: list[FileError], ledger: list[LedgerEntry], error: Exception
) -> MigratedFile:
    failure = FileError(relative, phrase("was left as it is: {error}", error=error), advice=_DEFECT)
    return MigratedFile(relative, None, found, found, [], [*errors, failure], ledger)


class _NotSettling(Exception):
    pass


def _first_round(job: _Job, found: list[Finding]) -> tuple[Applied, set[_Origin], list[FileError]]:
    """The edits of the original, with those that would break it, and what is said of these."""
    state, offsets = _State(job.original, b"", found), OffsetMap()
    left_alone = _left_at_first(found, job)
    broken: set[_Origin] = set()
    problems: list[FileError] = []
    for _ in range(MAX_ROUNDS):
        chosen = [one for one in job.wanted(found, offsets) if _origin(one, job, offsets) not in left_alone | broken]
        applied = apply_findings(state.text.data, chosen)
        more = _breaking(applied, state, job, offsets)
        if not more:
            return applied, broken, problems
        broken |= more
        problems += [_left_out(job, *origin) for origin in sorted(more)]
    raise _NotSettling(phrase("its edits do not settle after {MAX_ROUNDS} rounds", MAX_ROUNDS=MAX_ROUNDS))


def _left_at_first(found: Sequence[Finding], job: _Job) -> set[_Origin]:
    """What the first round leaves, and stays left: later rounds see the names that it put beside it, or took away.

    An edit may begin at either end of what it is about. Where that of another finding begins there, it is made: what is
    taken out of a row begins where the member before it ends.
    """
    left = {(place, finding.code) for finding in found if not finding.edits for place in (finding.start, finding.end)}
    if not left:
        return left
    return left - {_origin(finding, job, OffsetMap()) for finding in found if finding.edits}


def _rounds(job: _Job, begun: Begun) -> MigratedFile:
    """Apply edits until nothing changes any more; see :func:`migrate_file`."""
    found, problems = begun.found, list(begun.problems)
    offsets = OffsetMap()
    left_alone = _left_at_first(found, job) | begun.left_alone
    cleared = {
        Position(one.line, one.column) for one in begun.ledger if one.state is State.CLEARED and one.by != _BY_STYLE
    }
    state = _State(job.original, b"", found)
    changes: list[Change] = []
    applied = begun.applied
    for _ in range(MAX_ROUNDS):
        changes += [_change(finding, job.original, offsets) for finding in applied.findings]
        offsets.add(applied.edits)
        state = _next(applied, state, job, offsets)
        while True:
            chosen = [
                finding
                for finding in job.wanted(state.findings, offsets)
                if _origin(finding, job, offsets) not in left_alone and not _is_of(cleared, finding, job, offsets)
            ]
            applied = apply_findings(state.text.data, chosen)
            broken = _breaking(applied, state, job, offsets)
            if not broken:
                break
            left_alone |= broken
            problems += [_left_out(job, *origin) for origin in sorted(broken)]
        if not applied.edits:
            break
    else:
        raise _NotSettling(phrase("its edits do not settle after {MAX_ROUNDS} rounds", MAX_ROUNDS=MAX_ROUNDS))
    changes.sort(key=lambda change: (change.start, change.end, change.code))
    not_understood = {finding.subject for finding in found if finding.code == UNKNOWN.code}
    left = still_to_do(
        found,
        [
            one
            for one in state.findings
            if (one.code != UNKNOWN.code or one.subject in not_understood)
            and not (one.edits and _is_of(cleared, one, job, offsets))
        ],
        changes,
        job.original,
        state.text,
        offsets,
        made=job.wanted(found, OffsetMap()),
        python=job.relative.endswith((".py", ".pyi", ".ipynb")),
    )
    return MigratedFile(job.relative, state.raw if changes else None, found, left, changes, problems)


def _origin(finding: Finding, job: _Job, offsets: OffsetMap) -> _Origin:
    return Position(*job.original.position(offsets.original(finding.edits[0].start))), finding.code


def _is_of(cleared: set[Position], finding: Finding, job: _Job, offsets: OffsetMap) -> bool:
    """Whether a later round would replace a word that needs nothing: other files still show the text of before.

    The word is what the edit replaces, or what stands in the quotes that it replaces.
    """
    edit = finding.edits[0]
    if edit.end <= edit.start:
        return False
    quote = _OPENING.match(edit.before)
    starts = [edit.start] if quote is None else [edit.start, edit.start + quote.end()]
    return any(Position(*job.original.position(offsets.original(start))) in cleared for start in starts)


def _breaking(applied: Applied, state: _State, job: _Job, offsets: OffsetMap) -> set[_Origin]:
    """The findings whose edits, each by itself, break the text: one such must not keep all the others from being made.

    Raises:
        EditError: only together they break it.
    """
    if not applied.edits or job.worker.is_valid(job.relative, applied.data, job.kind):
        return set()
    broken = {
        _origin(finding, job, offsets)
        for finding in applied.findings
        if not job.worker.is_valid(job.relative, apply_findings(state.text.data, [finding]).data, job.kind)
    }
    if not broken:
        raise EditError("the edited file would not parse")
    return broken


def _left_out(job: _Job, place: Position, code: str) -> FileError:
    message = phrase("an edit of {code} was left out: the file would not parse with it", code=code)
    return FileError(job.relative, message, place.line, _DEFECT)


def _next(applied: Applied, state: _State, job: _Job, offsets: OffsetMap) -> _State:
    """What edits make of a file; ``offsets`` knows of them already."""
    needs_torch_npu = state.needs_torch_npu or any(finding.needs_torch_npu for finding in applied.findings)
    raw = state.text.encode(applied.data)
    findings, errors, _, _ = job.worker.analyse(
        job.relative,
        raw,
        needs_torch_npu=needs_torch_npu,
        whole=False,
        kind=job.kind,
        is_later_round=True,
        keeps_ledger=True,
    )
    if len(errors) > job.known_errors:
        raise EditError(errors[-1].message)
    findings = proven(findings, job.traced, lambda one: job.original.position(offsets.original(one.edits[0].start))[0])
    return _State(Text(raw), raw, findings, needs_torch_npu)


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
