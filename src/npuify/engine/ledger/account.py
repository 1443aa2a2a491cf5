"""Account for every place of a file: by the findings about it, else by the reason for which it needs nothing."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from npuify.engine.ledger.answer import Cleared, Unknown
from npuify.engine.ledger.other_files import clear_other
from npuify.engine.ledger.python import clear_python
from npuify.engine.ledger.spans import Spans, spans_of
from npuify.engine.ledger.unknown import RULE, also_at, finding_of
from npuify.engine.ledger.vocabulary import occurrences
from npuify.model import LedgerEntry, State
from npuify.rules.common.packages.import_guards import in_function

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from npuify.engine.ledger.spans import Span
    from npuify.engine.ledger.vocabulary import Occurrence
    from npuify.model import Finding
    from npuify.rules.context import PythonFile
    from npuify.rules.run import Run
    from npuify.source.text import Text

_OF_NAMES = (ast.Import, ast.ImportFrom, ast.alias, ast.Name)


def _imported_unguarded(answers: Iterable[Cleared | Unknown], file: PythonFile) -> Iterator[str]:
    """Packages of which an import that nothing guards fails as the file is read, whatever stands around another."""
    for answer in answers:
        if isinstance(answer, Unknown) and isinstance(answer.node, (ast.Import, ast.ImportFrom, ast.alias)):
            if not in_function(answer.node, file):
                yield answer.package


class Accounted(NamedTuple):
    """The ledger of one file in order of place, and a finding for each place that nothing is known of."""

    entries: list[LedgerEntry]
    unknown: list[Finding]


def account(
    relative: str,
    text: Text,
    kind: str,
    findings: Sequence[Finding],
    file: PythonFile | None,
    settled: Iterable[Span],
    run: Run,
) -> Accounted:
    """Account for every place of a file that concerns CUDA.

    Args:
        relative, text, kind: the file.
        findings: what was found in it.
        file: a Python file as the rules saw it; None where they did not.
        settled: where rules had something to say that is settled without a finding.
        run: what the run is about.
    """
    places = occurrences(text.data, text.lower)
    if not places:
        return Accounted([], [])
    about = Spans([*spans_of(findings, text), *settled])
    spans = [about.about(place) for place in places]
    rest = [place for place, span in zip(places, spans, strict=True) if span is None]
    if kind in ("python", "stub"):
        answers = clear_python(relative, text, rest, file, run)
    else:
        answers = clear_other(kind, text, rest, run.plan, is_reported=bool(findings))
    told = _told(places, spans, findings, text)
    guarded = {answer.because for answer in answers if isinstance(answer, Cleared) and answer.reason == "guarded"}
    if guarded and file is not None:
        guarded -= set(_imported_unguarded(answers, file))
    entries: list[LedgerEntry] = []
    unknown: dict[object, Finding] = {}
    lines: dict[object, set[int]] = {}
    pending = iter(answers)
    for place, span in zip(places, spans, strict=True):
        line, column = text.position(place.start)
        word = _word(place, text)
        if span is not None:
            entries.append(LedgerEntry(relative, line, column, word, span.state, span.by))
            continue
        answer = next(pending)
        if isinstance(answer, Cleared):
            entries.append(LedgerEntry(relative, line, column, word, State.CLEARED, answer.reason, answer.because))
            continue
        if answer.package and answer.package in guarded:
            entries.append(LedgerEntry(relative, line, column, word, State.CLEARED, "guarded", answer.package))
            continue
        by = "" if _is_member(answer.node, file) else _told_elsewhere(word, answer, told)
        entries.append(LedgerEntry(relative, line, column, word, State.REPORTED, by or RULE.code))
        key = by or _asked_together(line, word, answer, kind)
        finding = None
        if key in unknown and unknown[key].only_with:
            # What holds under one option only does not stand for what holds always.
            finding = finding_of(relative, place, text, answer.node, file)
            key = key if finding.only_with == unknown[key].only_with else (key, finding.only_with)
        if key in unknown:
            lines[key].add(line)
            continue
        unknown[key] = finding or finding_of(relative, place, text, answer.node, file)
        lines[key] = {line}
    return Accounted(
        entries,
        [also_at(finding, lines[key]) for key, finding in unknown.items() if not isinstance(key, str)],
    )


def _asked_together(line: int, word: str, unknown: Unknown, kind: str) -> object:
    """What makes several places one thing to look at.

    A text of many lines is one; so is a name of a package, and in a file that is not Python a word, each however often
    it stands there.
    """
    if isinstance(unknown.node, ast.Constant):
        return unknown.node
    if kind not in ("python", "stub", "notebook"):
        return (kind, word)
    return (unknown.package or line, word)


def _word(place: Occurrence, text: Text) -> str:
    return text.data[place.start : place.end].decode("utf-8", "replace")


def _told(
    places: Sequence[Occurrence], spans: Sequence[Span | None], findings: Sequence[Finding], text: Text
) -> Mapping[str, str]:
    """Names and packages that findings of a file speak of, with the codes of these."""
    told = {finding.subject.partition(".")[0]: finding.code for finding in findings if finding.subject}
    for place, span in zip(places, spans, strict=True):
        if span is not None and span.state is not State.CLEARED:
            told.setdefault(_word(place, text), span.by)
    return told


def _is_member(node: ast.AST | None, file: PythonFile | None) -> bool:
    """Whether a name is bound as a member of a class, which nothing that is called like it tells of."""
    if file is None or not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Store):
        return False
    assign = file.parent(node)
    return assign is not None and isinstance(file.parent(assign), ast.ClassDef)


def _told_elsewhere(word: str, unknown: Unknown, told: Mapping[str, str]) -> str:
    """The code of a finding about the same name or package elsewhere in the file; empty where there is none.

    A package is reported once a file, a name that is imported where it is used.
    """
    if isinstance(unknown.node, _OF_NAMES):
        return told.get(word) or told.get(unknown.package, "") if unknown.package else told.get(word, "")
    return told.get(unknown.package, "") if unknown.package else ""
