"""The findings of a Markdown report: what a person ticks off, what npuify changes, what is worth knowing."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from npuify.language import commas, mark, phrase, plural
from npuify.model import Evidence, Safety
from npuify.report.formats.markdown_text import inline_code, prose, sentence, shortened
from npuify.report.summary import counted
from npuify.report.verdicts.verdict import status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.model import Finding

_EDITS = {
    Safety.SAFE: mark("safe: same meaning on the NPU"),
    Safety.REVIEW: mark("review: usually correct; review it, then apply with `--unsafe`"),
    Safety.MANUAL: "by hand",
}


def checklist(findings: Sequence[Finding], *, nothing: str, migrated: bool) -> Iterator[str]:
    """What a person has to act on, to tick off; without a box what npuify does by itself, and what is worth knowing."""
    groups: dict[str, list[Finding]] = {}
    for finding in sorted(findings, key=lambda one: (one.file, one.start)):
        groups.setdefault(status(finding, migrated=migrated), []).append(finding)
    acting = sorted(groups.get("manual", []) + groups.get("review", []), key=lambda one: (one.file, one.start))
    if acting:
        if not migrated:
            yield from (phrase("## What you have to do"), "")
        yield from (phrase("{sentence} to tick off.", sentence=sentence(counted(len(acting), "place"))), "")
        yield from _ticked(acting)
    else:
        yield from (nothing, "")
    if "migrated" in groups:
        yield from (
            phrase("## What npuify changes automatically"),
            "",
            phrase("With `npuify migrate`, which lists each edit."),
            "",
        )
        yield from _listed(groups["migrated"])
    if "note" in groups:
        yield from (phrase("## Worth knowing"), "", phrase("Nothing breaks if these are left unchanged."), "")
        yield from _listed(groups["note"])


def _ticked(findings: Sequence[Finding]) -> Iterator[str]:
    """One box for each place."""
    for file, group in groupby(findings, key=lambda one: one.file):
        yield from (f"### {inline_code(file)}", "")
        for one in group:
            what = f"**{phrase(one.severity.value)}** {one.code} {inline_code(one.name)}"
            yield phrase(
                "- [ ] line {line}: {what}: {message}{sure}",
                line=one.start.line,
                what=what,
                message=prose(one.message),
                sure=_sure(one),
            )
            if one.advice:
                yield phrase("  - What to do: {text}", text=prose(one.advice))
            if one.edits:
                yield phrase(
                    "  - An edit is offered ({EDITS}): {offered}",
                    EDITS=phrase(_EDITS[one.safety]),
                    offered=_offered(one),
                )
        yield ""


def _listed(findings: Sequence[Finding]) -> Iterator[str]:
    """One item for all places of a file of which the same is to be said."""
    for file, group in groupby(findings, key=lambda one: one.file):
        yield from (f"### {inline_code(file)}", "")
        lines: dict[tuple[str, str], list[int]] = {}
        for one in group:
            said = phrase(
                "{code}: {message}{sure}",
                code=f"{one.code} {inline_code(one.name)}",
                message=prose(one.message),
                sure=_sure(one),
            )
            if one.edits:
                said = phrase("{said}: {edit}", said=said, edit=_offered(one))
            lines.setdefault((said, one.advice), []).append(one.start.line)
        for (said, advice), numbers in lines.items():
            where = commas(map(str, dict.fromkeys(numbers)))
            yield (
                phrase("- line {where}: {said}", where=where, said=said)
                if len(set(numbers)) == 1
                else phrase("- lines {where}: {said}", where=where, said=said)
            )
            if advice:
                yield phrase("  - What to do: {text}", text=prose(advice))
        yield ""


def _sure(finding: Finding) -> str:
    unsure = finding.evidence in {Evidence.ASSUMED, Evidence.REPORTED}
    return phrase(" *({value}, not confirmed)*", value=finding.evidence.value) if unsure else ""


def _offered(finding: Finding) -> str:
    edit, others = finding.edits[0], len(finding.edits) - 1
    before, after = (shortened(" ".join(text.split())) for text in (edit.before, edit.after))
    more = plural(", and {count} more edit", ", and {count} more edits", others) if others else ""
    nothing = phrase("nothing")
    return f"{inline_code(before) if before else nothing} → {inline_code(after) if after else nothing}{more}"
