"""The edits that an editor offers: one finding mended, all safe ones made, or a place silenced."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from npuify.editor.lines import Replacement, difference, lines_of
from npuify.language import ENGLISH, phrase, spoken
from npuify.model import Safety
from npuify.project.kinds import kind_of_path
from npuify.rewrite.edits import EditError, apply_findings
from npuify.rewrite.fixpoint import migrate_file
from npuify.source.text import Text, UnreadableText

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.editor.session import Seen, Session
    from npuify.model import Finding

_IMPORT: Final = "NPU100"
"""The rule that imports torch_npu where an edit needs it."""
_COMMENTED: Final = frozenset(("python", "shell", "yaml", "toml", "requirements", "docker", "make", "cmake", "env"))
"""Kinds of files in which # begins a comment."""
_NOTEBOOK: Final = "notebook"
_CELL_LINE: Final = re.compile(r'(\s*)(".*")(,?\s*)')
_IGNORE: Final = re.compile(r"(#\s*npuify:\s*ignore\[)([^\]]*)(\])")


class Fix(NamedTuple):
    """One thing that an editor can do.

    Attributes:
        title: for a menu.
        replacements: of lines, in order; none overlaps another.
        is_preferred: it is safe.
        finding: what it is for; None for all.
    """

    title: str
    replacements: Sequence[Replacement]
    is_preferred: bool = False
    finding: Finding | None = None


def fixes(session: Session, seen: Seen, findings: Sequence[Finding]) -> Iterator[Fix]:
    """What can be done about some findings of a file."""
    if seen.text is None:
        return
    for finding in findings:
        if finding.edits:
            made = _mended(session, seen, finding)
            if made is not None:
                safe = finding.safety is Safety.SAFE
                note = "" if safe else " (needs review)"
                yield Fix(f"{finding.code}: {_shown(finding)}{note}", made, safe, finding)
        silenced = _silenced(session, seen, finding)
        if silenced is not None:
            yield Fix(phrase("{code}: ignore on this line", code=finding.code), silenced, finding=finding)


def fix_all(session: Session, seen: Seen) -> Fix | None:
    """All edits that ``npuify migrate`` makes in this file; None where there are none."""
    if seen.text is None:
        return None
    done = migrate_file(seen.relative, seen.raw, session.worker, unsafe=session.options.unsafe)
    if done.raw is None:
        return None
    kind = "safe edits" if not session.options.unsafe else "edits"
    return Fix(
        phrase("npuify: make all {kind} ({number})", kind=kind, number=len(done.changes)),
        difference(seen.text.string, Text(done.raw).string),
        True,
    )


def _mended(session: Session, seen: Seen, finding: Finding) -> Sequence[Replacement] | None:
    """The edits of one finding, with ``import torch_npu`` where they need it; None where they cannot be made."""
    assert seen.text is not None
    try:
        data = apply_findings(seen.text.data, [finding]).data
        if not session.worker.is_valid(seen.relative, data):
            return None
        if finding.needs_torch_npu:
            raw = seen.text.encode(data)
            found, _, _, _ = session.worker.analyse(
                seen.relative, raw, needs_torch_npu=True, whole=False, is_later_round=True
            )
            data = apply_findings(Text(raw).data, [one for one in found if one.code == _IMPORT and one.edits]).data
    except (EditError, UnreadableText):
        return None
    return difference(seen.text.string, data.decode("utf-8", "surrogatepass"))


def _silenced(session: Session, seen: Seen, finding: Finding) -> Sequence[Replacement] | None:
    """A comment that silences a finding on its line; None where none can stand there."""
    assert seen.text is not None
    kind = kind_of_path(seen.relative)
    if kind not in (*_COMMENTED, _NOTEBOOK):
        return None
    lines = lines_of(seen.text.string)
    number = finding.end.line - 1
    if number >= len(lines):
        return None
    silent = (
        _in_notebook(lines[number], finding.code) if kind == _NOTEBOOK else _with_comment(lines[number], finding.code)
    )
    if silent is None:
        return None
    lines[number] = silent
    text = "".join(lines)
    # A line may end in a backslash, or inside of a string: it is tried.
    try:
        raw = seen.text.encode(text.encode("utf-8", "surrogatepass"))
    except UnreadableText:
        return None
    if not session.worker.is_valid(seen.relative, text.encode("utf-8", "surrogatepass")):
        return None
    found, errors, _, _ = session.worker.analyse(seen.relative, raw, whole=False, keeps_ledger=True)
    same = [one for one in seen.findings if (one.code, one.start.line) == (finding.code, finding.start.line)]
    still = [one for one in found if (one.code, one.start.line) == (finding.code, finding.start.line)]
    others = len(found) > len(seen.findings) - len(same)
    if still or others or len(errors) > len(seen.errors):
        return None
    return [Replacement(number, number + 1, lines[number])]


def _with_comment(line: str, code: str) -> str:
    body = line.rstrip("\r\n")
    if _IGNORE.search(body):
        return _IGNORE.sub(rf"\g<1>\g<2>, {code}\g<3>", body, count=1) + line[len(body) :]
    return phrase("{body}  # npuify: ignore[{code}]{line}", body=body, code=code, line=line[len(body) :])


def _in_notebook(line: str, code: str) -> str | None:
    """A line of a notebook's file with the comment in the line of a cell that it holds; None where it holds none."""
    found = _CELL_LINE.fullmatch(line)
    try:
        source = json.loads(found[2]) if found else ""
    except ValueError:
        return None
    if not found or not source.strip() or "\n" in source.rstrip("\r\n"):
        return None
    return f"{found[1]}{json.dumps(_with_comment(source, code), ensure_ascii=False)}{found[3]}"


def _shown(finding: Finding) -> str:
    """The edit in a few words."""
    first, *more = finding.edits
    before, after = (" ".join(text.split())[:40] for text in (first.before, first.after))
    if more or not before or not after:
        # Its name is of English words.
        return finding.name.replace("-", " ") if spoken() == ENGLISH else finding.message
    return f"{before} → {after}"
