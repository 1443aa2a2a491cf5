"""What there is to see and to decide in a file: its findings, each with what becomes of its edits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from npuify.model import Evidence, Position, Safety, Severity
from npuify.report.areas import area
from npuify.report.verdicts.verdict import status
from npuify.review.decisions import Key
from npuify.source.text import Text, UnreadableText

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from npuify.model import Change, Finding, RuleInfo
    from npuify.review.decisions import Decisions


class Item(msgspec.Struct, frozen=True):
    """A finding of the original, or a change that follows from others."""

    id: str
    """Of those with edits the place and code by which they are decided on: ``line:column:code``."""
    file: str
    line: int
    column: int
    code: str
    name: str
    area: str
    severity: Severity
    safety: Safety
    who: str
    """Who has to act, as :func:`npuify.report.verdicts.verdict.status` tells it."""
    state: str
    """``made``, ``refused``, ``offered`` (right in the usual case; nobody decided), ``covered`` (accepted, and another
    edit at the place took it in), or ``none`` where there is no edit."""
    message: str
    advice: str
    subject: str
    evidence: Evidence
    source: str
    before: str = ""
    after: str = ""
    is_finding: bool = True
    """False for a change that no finding of the original speaks of."""

    @property
    def key(self) -> Key:
        """By which its edits are decided on."""
        line, column, code = self.id.split(":")[:3]
        return Key(self.file, int(line), int(column), code)


def items_of(
    file: str,
    raw: bytes,
    findings: Sequence[Finding],
    usual: Iterable[Change],
    made: Sequence[Change],
    decisions: Decisions,
    rules: Mapping[str, RuleInfo],
) -> list[Item]:
    """The items of a file, in the order of their places.

    Args:
        raw: the original.
        findings: those of the original.
        usual: the changes that would be made if nobody decided.
        made: those that are made now.
        decisions: of the person.
        rules: what is known of each code.
    """
    try:
        text = Text(raw)
    except UnreadableText:
        text = None
    changes = {_key(change): change for change in (*usual, *made)}
    now = {_key(change) for change in made}
    items: list[Item] = []
    seen: set[Key] = set()
    for number, finding in enumerate(findings):
        if finding.edits and text is not None:
            key = Key(file, *text.position(finding.edits[0].start), finding.code)
            if key not in seen:
                seen.add(key)
                items.append(_of_finding(finding, key, _state(key, finding.safety, now, decisions), changes.get(key)))
            continue
        key = Key(file, finding.start.line, finding.start.column, finding.code)
        items.append(msgspec.structs.replace(_of_finding(finding, key, "none", None), id=f"{_id(key)}:{number}"))
    for key, change in changes.items():
        if key not in seen:
            state = "made" if key in now else "refused" if decisions.of(key) is False else "covered"
            items.append(_of_change(change, key, state, rules.get(change.code)))
    return sorted(items, key=lambda one: (one.line, one.column, one.code, one.id))


def _key(change: Change) -> Key:
    return Key(change.file, change.start.line, change.start.column, change.code)


def _id(key: Key) -> str:
    return f"{key.line}:{key.column}:{key.code}"


def _state(key: Key, safety: Safety, made: set[Key], decisions: Decisions) -> str:
    decided = decisions.of(key)
    if key in made:
        return "made"
    if decided is False:
        return "refused"
    return "offered" if decided is None and safety is not Safety.SAFE else "covered"


def _of_finding(finding: Finding, key: Key, state: str, change: Change | None) -> Item:
    edits = finding.edits
    return Item(
        id=_id(key),
        file=finding.file,
        line=finding.start.line,
        column=finding.start.column,
        code=finding.code,
        name=finding.name,
        area=area(finding.code),
        severity=finding.severity,
        safety=finding.safety,
        who=status(finding, migrated=False),
        state=state,
        message=finding.message,
        advice=finding.advice,
        subject=finding.subject,
        evidence=finding.evidence,
        source=finding.source,
        before=change.before if change else " … ".join(edit.before for edit in edits),
        after=change.after if change else " … ".join(edit.after for edit in edits),
    )


def _of_change(change: Change, key: Key, state: str, rule: RuleInfo | None) -> Item:
    place: Position = change.start
    return Item(
        id=_id(key),
        file=change.file,
        line=place.line,
        column=place.column,
        code=change.code,
        name=change.name,
        area=area(change.code),
        severity=rule.severity if rule else Severity.INFO,
        safety=rule.safety if rule else Safety.SAFE,
        who="migrated",
        state=state,
        message=change.message,
        advice="",
        subject="",
        evidence=rule.evidence if rule else Evidence.ASSUMED,
        source=rule.source if rule else "",
        before=change.before,
        after=change.after,
        is_finding=False,
    )
