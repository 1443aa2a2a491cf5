"""The report that a person reads in a terminal, and that ``grep`` and editors understand: a finding is a line."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from npuify.model import Evidence, MigrationResult, Safety, ScanResult, Severity
from npuify.report.places import Places
from npuify.report.summary import Summary, counted, in_order, severities_in_words, summarise
from npuify.report.verdict import Level, hours, judge
from npuify.report.visible import file_name, in_one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.model import FileError, Finding
    from npuify.report.verdict import Verdict

Line = list[tuple[str, str]]
"""Pieces of one line, each with a style that rich knows (or none)."""

_COLOURS = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_EDITS = {Safety.SAFE: "safe edit", Safety.REVIEW: "edit to review", Safety.MANUAL: "by hand"}
_LEVELS = {Level.RUNS: "bold green", Level.REVIEW: "bold yellow", Level.WORK: "bold yellow", Level.BLOCKED: "bold red"}
_SHOWN = 5
"""Blockers, entry points and frameworks that are named; the other formats name all."""
_UNCERTAIN = {Evidence.ASSUMED, Evidence.REPORTED}


def render(result: ScanResult | MigrationResult) -> str:
    """The plain text, which does not depend on the terminal."""
    return "".join("".join(text for text, _ in line) + "\n" for line in lines(result))


def lines(result: ScanResult | MigrationResult) -> Iterator[Line]:
    """The same text as lines of styled pieces."""
    return _scan(result) if isinstance(result, ScanResult) else _migration(result)


def _scan(result: ScanResult) -> Iterator[Line]:
    places = Places(result)
    yield from _findings(result.findings, places)
    yield from _errors(result.errors, places)
    if result.findings or result.errors:
        yield []
    summary = summarise(result, result.findings)
    seen = counted(result.files_seen, "file")
    if not result.findings:
        yield [("Found nothing to do", "bold green"), (f" in {seen}.", "")]
    else:
        where = f" in {summary.files_with_findings} of {seen}: {severities_in_words(summary)}."
        yield [(f"Found {counted(summary.findings, 'place')}", "bold"), (where, "")]
        yield from _table(summary)
        yield from _what_edits_do(summary)
    yield from _unread(result.errors)
    yield _aim(result)
    yield from _verdict(judge(result))


def _migration(result: MigrationResult) -> Iterator[Line]:
    places = Places(result)
    scan = result.scan
    verb = "Changed" if result.destination else "Would change"
    yield from _findings(result.left, places)
    yield from _errors(scan.errors, places)
    if result.left or scan.errors:
        yield []
    if result.changed_files:
        edits = Counter(change.file for change in result.changes)
        new = {change.file for change in result.changes if change.after == "a new file"}
        made = len(result.changes) - len(new)
        of = f" of {counted(scan.files_seen, 'file')}, {counted(made, 'edit')}"
        of += f", and {counted(len(new), 'new file')}:" if new else ":"
        yield [(f"{verb} {len(result.changed_files) - len(new)}", "bold green"), (of, "")]
        width = min(max(len(file) for file in result.changed_files), 60)
        for file in result.changed_files:
            yield [
                (f"  {file_name(file).ljust(width)}  ", ""),
                ("new" if file in new else counted(edits[file], "edit"), "dim"),
            ]
    else:
        yield [("Nothing to change", "bold green"), (f" in {counted(scan.files_seen, 'file')}.", "")]
    summary = summarise(scan, result.left)
    if result.left:
        yield [
            (f"Left to do: {counted(summary.findings, 'place')}", "bold"),
            (f" in {counted(summary.files_with_findings, 'file')}: {severities_in_words(summary)}.", ""),
        ]
        yield from _table(summary)
        if not result.destination:
            yield [("  Their lines are those of the migrated files.", "dim")]
    else:
        yield [("Left to do: nothing that npuify knows of.", "bold green")]
    yield from _unread(scan.errors)
    yield _aim(scan)
    yield from _verdict(judge(result))
    if result.destination and result.destination != scan.root:
        yield [("Written to ", ""), (result.destination, "bold"), ("; the whole report is in npuify-report/.", "")]
    yield [("Nothing was run: try the result on the machine with the NPU.", "dim")]


def _findings(findings: Sequence[Finding], places: Places) -> Iterator[Line]:
    for finding in findings:
        place = f"{file_name(places.shown(finding.file))}:{finding.start.line}:{finding.start.column}"
        marks = [_EDITS[finding.safety]] if finding.edits else []
        marks += [finding.evidence.value] if finding.evidence in _UNCERTAIN else []
        yield [
            (place, "bold"),
            (f" {finding.code} ", "magenta"),
            (finding.severity.value, _COLOURS[finding.severity]),
            (f" {in_one_line(finding.message)}", ""),
            (f" [{', '.join(marks)}]" if marks else "", "dim"),
        ]
        if finding.advice:
            yield [(f"    {in_one_line(finding.advice)}", "dim")]


def _errors(errors: Sequence[FileError], places: Places) -> Iterator[Line]:
    for error in in_order(errors):
        place = file_name(places.shown_in_source(error.file)) + (f":{error.line}" if error.line else "")
        yield [(place, "bold"), (" not treated: ", "bold red"), (in_one_line(error.message), "")]
        if error.advice:
            yield [(f"    {in_one_line(error.advice)}", "dim")]


def _table(summary: Summary) -> Iterator[Line]:
    width = max(len(one.name) for one in summary.by_code)
    for one in summary.by_code:
        yield [
            (f"  {one.code}  ", "magenta"),
            (f"{one.name.ljust(width)}  {one.count:>5}  ", ""),
            (one.severity.value.ljust(7), _COLOURS[one.severity]),
            (f"  {_EDITS[one.safety]}", "dim"),
        ]


def _what_edits_do(summary: Summary) -> Iterator[Line]:
    safe, review, manual = (summary.by_safety[safety.value] for safety in Safety)
    parts = []
    if safe:
        parts.append(f"{safe} can be edited safely (npuify migrate)")
    if review:
        parts.append(f"{review} can be edited after a look (--unsafe)")
    if manual:
        parts.append(f"{manual} {'needs' if manual == 1 else 'need'} a person")
    yield [("; ".join(parts) + ".", "")]


def _unread(errors: Sequence[FileError]) -> Iterator[Line]:
    if errors:
        files = counted(len({error.file for error in errors}), "file")
        yield [(f"Not treated as it should have been: {files} (see above).", "bold red")]


def _aim(scan: ScanResult) -> Line:
    release = scan.release
    style = f" in the style {scan.style}" if scan.style != "npu" else ""
    cann = f", CANN {release.cann}" if release.cann else ""
    reason = f": {release.reason}" if release.reason else ""
    return [
        (f"Aimed at torch_npu {release.torch_npu} (torch {release.torch}{cann}){style}{reason}.".replace("..", "."), "")
    ]


def _verdict(verdict: Verdict) -> Iterator[Line]:
    yield [("Verdict: ", "bold"), (verdict.title.lower(), _LEVELS[verdict.level]), (f". {verdict.summary}", "")]
    for blocker in verdict.blockers[:_SHOWN]:
        first = blocker.places[0]
        where = f"{first.file}:{first.line}" if first.line else first.file
        more = ", …" if len(blocker.places) > 1 else ""
        yield [("  Blocked by ", "bold red"), (in_one_line(f"{blocker.what} ({where}{more})"), "")]
    starts = [point.file for point in verdict.survey.entry_points]
    if starts:
        yield [("  Starts with ", "dim"), (_some(starts), "")]
    frameworks = [f"{one.name} {one.version}".strip() for one in verdict.survey.frameworks]
    if frameworks:
        yield [("  Stands on ", "dim"), (_some(frameworks), "")]
    operators = [one.what for one in verdict.operators]
    if operators:
        yield [("  Operators that decide: ", "dim"), (in_one_line(_some(operators)), "")]
    yield [
        ("  Estimate ", "dim"),
        (hours(verdict.estimate), "bold"),
        (" for one person: a judgement, not a measurement; --format html says how it is made.", ""),
    ]


def _some(names: Sequence[str]) -> str:
    """The first of ``names``, and how many more there are."""
    more = f", and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return in_one_line(", ".join(names[:_SHOWN])) + more
