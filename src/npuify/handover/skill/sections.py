"""The sections of SKILL.md, in the order in which a reader follows them.

Blocks of ``bash`` are run in that order in one shell. A word after ``bash`` says where a block belongs: ``install``
needs a package index, ``npu`` needs a machine with NPUs, ``documented`` was found in the project's pages and was not
tried.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from npuify.handover.checklist.pages import basis
from npuify.handover.skill.marks import cell, code, prose
from npuify.handover.skill.procedure import apply, begin, environment, install, start, verify
from npuify.handover.skill.rows import MOST_POINTS, row, title
from npuify.language import phrase
from npuify.model import Severity
from npuify.report.doctor import Status as DoctorStatus

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.handover.skill.guide import Guide
    from npuify.handover.skill.texts import Texts
    from npuify.model import Finding

_MOST_CHANGES: Final = 20


def body(guide: Guide, say: Texts) -> str:
    """Everything below the front matter."""
    parts = (
        _head,
        _versions,
        begin,
        install,
        environment,
        apply,
        _changes,
        _special,
        start,
        verify,
        _problems,
        _more,
    )
    lines: list[str] = []
    for part in parts:
        lines += [*part(guide, say), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _head(guide: Guide, say: Texts) -> Iterator[str]:
    record = guide.record
    yield f"# {say('title', project=prose(record.name))}"
    yield ""
    yield say("how-to-follow")
    yield ""
    yield f"## {say('state-title')}"
    yield ""
    if record.migration is not None:
        yield say("state-migrated", edits=len(record.changes), files=len(record.migration.changed_files))
    elif record.planned is not None:
        yield say("state-planned", edits=len(record.changes), files=len(record.planned.changed_files))
    yield ""
    yield from row(say("what"), say("state"), say("evidence"))
    yield "|---|---|---|"
    for point in guide.checklist.points:
        if point.group != "code" and point.state != "nothing to do":
            yield from row(title(point, say, guide.stack), say(f"state {point.state}"), cell(basis(point)))
    yield ""
    yield say("nothing-on-hardware")


def _versions(guide: Guide, say: Texts) -> Iterator[str]:
    stack = guide.stack
    yield f"## {say('versions-title')}"
    yield ""
    yield say("versions-why")
    yield ""
    yield from row(say("package"), say("version"))
    yield "|---|---|"
    for package, version in stack.rows:
        yield from row(prose(package), code(version) if version else say("unknown"))
    for package in () if stack.is_for_tensorflow else guide.packages.with_torch:
        yield from row(package.partition("==")[0], f"`{package.partition('==')[2] or say('any')}`")
    yield ""
    if stack.adapter is not None:
        yield prose(stack.adapter.note)
        yield ""
    yield say("versions-chosen", reason=prose(stack.reason.rstrip(".")))
    yield say("versions-known", evidence=say(f"evidence {stack.evidence.value}"), source=prose(stack.source))


def _changes(guide: Guide, say: Texts) -> Iterator[str]:
    yield f"## {say('changes-title')}"
    yield ""
    made = guide.record.changes
    if not made:
        yield say("no-changes")
        return
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for one in made:
        groups.setdefault((one.code, one.name), []).append((one.file, one.message))
    yield from row(say("rule"), say("places"), say("files"), say("why"))
    yield "|---|---:|---|---|"
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    for (rule, name), places in ordered[:_MOST_CHANGES]:
        files = list(dict.fromkeys(file for file, _ in places))
        shown = ", ".join(code(file) for file in files[:3]) + (" …" if len(files) > 3 else "")
        ((why, _),) = Counter(message for _, message in places).most_common(1)
        yield from row(f"{rule} {code(name)}", str(len(places)), shown, cell(why))
    yield ""
    yield say("changes-all", count=len(made))
    if guide.by_hand:
        yield say("changes-by-hand", files=", ".join(code(name) for name in guide.by_hand[:MOST_POINTS]))


def _left(guide: Guide) -> list[Finding]:
    record = guide.record
    findings = record.planned.left if record.planned is not None else record.scan.findings
    order = tuple(Severity)
    return sorted(findings, key=lambda one: (order.index(one.severity), one.file, one.start))


def _alike(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Findings that say the same, together."""
    made: dict[tuple[bool, str, str], list[Finding]] = {}
    for one in findings:
        made.setdefault((one.severity is Severity.INFO, one.code, one.message), []).append(one)
    return list(made.values())


def _points(heading: str, findings: Sequence[Finding], most: int, say: Texts) -> Iterator[str]:
    if not findings:
        return
    yield say(heading, count=len(findings))
    for same in _alike(findings)[:most]:
        one = same[0]
        more = f" (+{len(same) - 1})" if len(same) > 1 else ""
        level = phrase(one.severity.value)
        yield f"- {level} {one.code} {code(f'{one.file}:{one.start.line}')}{more}: {prose(one.message)}"
        if one.advice:
            yield f"  {prose(one.advice)}"
    yield ""


def _special(guide: Guide, say: Texts) -> Iterator[str]:
    yield f"## {say('special-title')}"
    yield ""
    left = _left(guide)
    survey = guide.record.scan.survey
    if not left and not survey.operators and not survey.kernels:
        yield say("open-none")
        return
    notes = [one for one in left if one.severity is Severity.INFO]
    yield from _points("special-open", [one for one in left if one.severity is not Severity.INFO], MOST_POINTS, say)
    room = MOST_POINTS - len(_alike(left)) + len(_alike(notes))
    if room > 0:
        yield from _points("special-notes", notes, room, say)
    if len(_alike(left)) > MOST_POINTS:
        yield say("special-all", count=len(left))
        yield ""
    for operator in survey.operators[:MOST_POINTS]:
        ways = "; ".join(operator.ways[:2]) or operator.equivalent
        yield f"- {say('kernel')} {code(operator.name)} ({code(operator.file)}): {operator.difficulty}. {prose(ways)}"
    if survey.kernels and not survey.operators:
        yield f"- {say('kernel-files')}: {', '.join(code(name) for name in survey.kernels[:MOST_POINTS])}"


def _problems(guide: Guide, say: Texts) -> Iterator[str]:
    yield f"## {say('problems-title')}"
    yield ""
    record = guide.record
    problems = [f"{code(one.file)}: {prose(one.message)} {prose(one.advice)}".rstrip() for one in record.scan.errors]
    if record.doctor is not None:
        for result in record.doctor.results:
            if result.status in (DoctorStatus.ERROR, DoctorStatus.WARNING):
                mend = "; ".join(result.mend.commands) if result.mend is not None else ""
                problems.append(f"{prose(result.message)} {prose(result.advice)} {code(mend) if mend else ''}".rstrip())
    problems += [f"{prose(one.text)} ({code(one.file)})" for one in record.results if one.outcome == "failed"]
    problems += [
        f"{code(f'{one.file}:{one.start.line}')}: {prose(one.message)}"
        for one in _left(guide)
        if one.severity is Severity.ERROR
    ]
    if not problems:
        yield say("problems-none")
    yield from (f"- {problem}" for problem in problems[:MOST_POINTS])
    if len(problems) > MOST_POINTS:
        yield f"- {say('special-all', count=len(problems))}"
    yield ""
    yield say("problems-diagnose")


def _more(guide: Guide, say: Texts) -> Iterator[str]:
    yield f"## {say('more-title')}"
    yield ""
    yield phrase("- [references/checklist.md](references/checklist.md): {say}", say=say("more-checklist"))
    yield phrase("- [references/changes.md](references/changes.md): {say}", say=say("more-changes"))
    if guide.patch is not None:
        yield phrase("- [references/changes.patch](references/changes.patch): {say}", say=say("more-patch"))
    yield phrase("- [references/open-points.md](references/open-points.md): {say}", say=say("more-open"))
    yield phrase("- [references/requirements.txt](references/requirements.txt): {say}", say=say("more-requirements"))
    names = ["scripts/install.sh", "scripts/environment.sh"]
    if guide.has_check:
        names.append("scripts/check_npu.py")
    yield f"- {', '.join(f'[{name}]({name})' for name in names)}: {say('more-scripts')}"
