"""What an editor shows beside the code: the explanation of a place, and how much is left."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from npuify.language import commas, phrase, semicolons, sentences
from npuify.model import NpuifyError
from npuify.report.evidence import KNOWN
from npuify.report.summary import counted, remaining

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.editor.session import Seen, Session
    from npuify.model import Explanation, Finding

_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_TELLING = ("cuda", "npu", "nccl", "hccl", "torch")
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|])")


def hover(session: Session, seen: Seen, findings: Sequence[Finding], line: str, column: int) -> str:
    """What is known of a place, in Markdown; empty where that is nothing.

    Args:
        session: its project.
        seen: its file.
        findings: those that stand there.
        line: the text of its line.
        column: in it, from 0, in characters.
    """
    parts = [_of_finding(session, one) for one in findings]
    if not parts:
        name = next((one[0] for one in _NAME.finditer(line) if one.start() <= column < one.end()), "")
        if any(word in name.lower() for word in _TELLING):
            parts = list(_explained(session, name))
    return "\n\n---\n\n".join(parts)


def lens(findings: Sequence[Finding]) -> str:
    """How much is left of what was found in a file, or a cell; empty where nothing is."""
    left = remaining(findings)
    if not left:
        return ""
    edits = sum(bool(one.edits) for one in left)
    told = phrase(", {edits} with an edit", edits=edits) if edits else ""
    return phrase("npuify: {places} left{told}", places=counted(len(left), "place"), told=told)


def _of_finding(session: Session, finding: Finding) -> str:
    kind = commas(map(phrase, (finding.severity.value, finding.safety.value)))
    said = [phrase("**{code}** ({kind})", code=f"{finding.code} {_escaped(finding.name)}", kind=kind)]
    said.append(_escaped(finding.message) + (f" {_escaped(finding.advice)}" if finding.advice else ""))
    known = phrase("Known: {value}, {how}.", value=finding.evidence.value, how=phrase(KNOWN[finding.evidence]))
    source = phrase("Source: {source}.", source=_escaped(finding.source)) if finding.source else ""
    said.append(sentences(known, source))
    said += _explained(session, finding.subject)
    said.append(phrase("Target: torch_npu {torch_npu}", torch_npu=session.worker.torch_npu))
    return "\n\n".join(said)


def _explained(session: Session, name: str) -> Iterator[str]:
    """What ``npuify explain`` says of a name in the release aimed at."""
    from npuify.api import explain

    if not name:
        return
    try:
        found: Explanation = explain(name, torch_npu=session.worker.torch_npu)
    except NpuifyError:
        return
    rows = semicolons(
        phrase(
            "torch_npu {torch_npu}: {value} {note}",
            torch_npu=row.torch_npu,
            value=row.name or phrase("not there"),
            note=row.note,
        ).strip()
        for row in found.releases
    )
    text = sentences(*found.text, rows)
    if text:
        source = phrase("Source: {source}.", source=found.source) if found.source else ""
        yield phrase("{title}: {text}", title=_escaped(found.title), text=_escaped(sentences(text, source)))


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))
