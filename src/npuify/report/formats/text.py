"""The report that a person reads in a terminal, and that ``grep`` and editors understand: a finding is a line."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from npuify.knowledge.release.versions import cann_in_words
from npuify.language import commas, mark, padded, phrase, plural, semicolons
from npuify.model import Evidence, MigrationResult, Safety, ScanResult, Severity
from npuify.report.ledger import cleared_by_reason, counted_reason, in_words, ledger_of
from npuify.report.places import Places
from npuify.report.summary import Summary, acts_in_words, counted, in_order, severities_in_words, summarise
from npuify.report.verdicts.scope import is_aside, is_for_tensorflow
from npuify.report.verdicts.verdict import Level, by_status, hours, judge
from npuify.visible import file_name, in_one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.model import FileError, Finding, LedgerEntry, Survey
    from npuify.report.verdicts.programs import ProgramVerdict
    from npuify.report.verdicts.verdict import Group, Verdict

Line = list[tuple[str, str]]
"""Pieces of one line, each with a style that rich knows (or none)."""

_COLOURS = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_EDITS = {Safety.SAFE: mark("safe edit"), Safety.REVIEW: mark("edit to review"), Safety.MANUAL: mark("by hand")}
_LEVELS = {Level.RUNS: "bold green", Level.REVIEW: "bold yellow", Level.WORK: "bold yellow", Level.BLOCKED: "bold red"}
_KINDS = {
    Severity.ERROR: (mark("error"), mark("errors")),
    Severity.WARNING: (mark("warning"), mark("warnings")),
    Severity.INFO: (mark("info"), mark("info")),
}
"""What a number of findings is called in the table."""
_IMPORTS = "NPU100"
"""The code of edits that import torch_npu where other edits need it."""
_MOST_PROGRAMS = 8
_DECIDING = 3
_SHOWN = 5
"""Blockers, entry points and frameworks that are named; the other formats name all."""
_UNCERTAIN = {Evidence.ASSUMED, Evidence.REPORTED}
_HOW_SURE = {Evidence.ASSUMED: mark("assumed"), Evidence.REPORTED: mark("reported")}
_SEVERITIES = {Severity.ERROR: mark("error"), Severity.WARNING: mark("warning"), Severity.INFO: mark("info")}


def render(result: ScanResult | MigrationResult, *, ledger: bool = False) -> str:
    """The plain text, which does not depend on the terminal.

    Args:
        result: what was found or done.
        ledger: also list the places that were left alone, by reason.
    """
    return "".join("".join(text for text, _ in line) + "\n" for line in lines(result, ledger=ledger))


def lines(result: ScanResult | MigrationResult, *, ledger: bool = False) -> Iterator[Line]:
    """The same text as lines of styled pieces."""
    if ledger:
        scan = result if isinstance(result, ScanResult) else result.scan
        yield from _left_alone(scan.ledger, Places(result))
    yield from _scan(result) if isinstance(result, ScanResult) else _migration(result)


def _left_alone(entries: Sequence[LedgerEntry], places: Places) -> Iterator[Line]:
    for reason, cleared in cleared_by_reason(entries):
        yield [
            (phrase("Left alone: {counted}", counted=counted_reason(reason)), "bold"),
            (phrase(" [{reason}]. {text}", reason=reason.reason, text=reason.text), "dim"),
        ]
        for entry in cleared:
            place = f"{file_name(places.shown_in_source(entry.file))}:{entry.line}:{entry.column}"
            because = f"  {in_one_line(entry.because)}" if entry.because else ""
            yield [(f"  {place}", ""), (f" {in_one_line(entry.word)}", "magenta"), (because, "dim")]
        yield []


def _counts(scan: ScanResult) -> Iterator[Line]:
    counts = in_words(ledger_of(scan.ledger))
    if counts:
        yield [(phrase("Places that concern CUDA: "), "bold"), (phrase("{parts}.", parts=counts), "")]


def _scan(result: ScanResult) -> Iterator[Line]:
    places = Places(result)
    yield from _findings(result.findings, places)
    yield from _errors(result.errors, places)
    if result.findings or result.errors:
        yield []
    summary = summarise(result, result.findings)
    seen = counted(result.files_seen, "file")
    if not result.findings:
        yield [(phrase("Found nothing to do"), "bold green"), (phrase(" in {seen}.", seen=seen), "")]
    else:
        where = phrase(
            " in {files_with_findings} of {seen}: {severities_in_words}.",
            files_with_findings=summary.files_with_findings,
            seen=seen,
            severities_in_words=severities_in_words(summary),
        )
        yield [(phrase("Found {places}", places=counted(summary.findings, "place")), "bold"), (where, "")]
        yield from _table(summary, result.findings, migrated=False)
        yield from _what_edits_do(result.findings)
    yield from _counts(result)
    yield from _unread(result.errors)
    yield _aim(result)
    yield from _verdict(judge(result))


def _migration(result: MigrationResult) -> Iterator[Line]:
    places = Places(result)
    scan = result.scan
    yield from _findings(result.left, places)
    yield from _errors(scan.errors, places)
    if result.left or scan.errors:
        yield []
    if result.changed_files:
        edits = Counter(change.file for change in result.changes)
        new = {change.file for change in result.changes if change.after == "a new file"}
        made = len(result.changes) - len(new)
        changed = len(result.changed_files) - len(new)
        head = phrase("Changed {changed}", changed=changed) if result.destination else ""
        head = head or phrase("Would change {changed}", changed=changed)
        counts = {"files": counted(scan.files_seen, "file"), "edits": _edits(result, new, made)}
        of = phrase(" of {files}, {edits}:", **counts)
        if new:
            of = phrase(" of {files}, {edits}, and {new_files}:", **counts, new_files=counted(len(new), "new file"))
        yield [(head, "bold green"), (of, "")]
        width = min(max(len(file) for file in result.changed_files), 60)
        for file in result.changed_files:
            yield [
                (f"  {file_name(file).ljust(width)}  ", ""),
                (phrase("new") if file in new else counted(edits[file], "edit"), "dim"),
            ]
    else:
        yield [
            (phrase("Nothing to change"), "bold green"),
            (phrase(" in {seen}.", seen=counted(scan.files_seen, "file")), ""),
        ]
    summary = summarise(scan, result.left)
    if result.left:
        yield [
            (phrase("Left to do: {places}", places=counted(summary.findings, "place")), "bold"),
            (
                phrase(
                    " in {files}: {severities}.",
                    files=counted(summary.files_with_findings, "file"),
                    severities=severities_in_words(summary),
                ),
                "",
            ),
        ]
        yield from _table(summary, result.left, migrated=True)
        if not result.destination:
            yield [(phrase("  Their lines are those of the migrated files."), "dim")]
    else:
        yield [(phrase("Left to do: nothing that npuify knows of."), "bold green")]
    yield from _counts(scan)
    yield from _unread(scan.errors)
    yield _aim(scan)
    yield from _verdict(judge(result))
    if result.destination and result.destination != scan.root:
        yield [
            (phrase("Written to "), ""),
            (result.destination, "bold"),
            (phrase("; the full report is in npuify-report/."), ""),
        ]
    yield [(phrase("Nothing was run: try the result on the NPU machine."), "dim")]


def _edits(result: MigrationResult, new: set[str], made: int) -> str:
    """The number of edits, and how many of them are imports of torch_npu, which a scan counts as no place."""
    added = sum(change.file not in new and change.code == _IMPORTS for change in result.changes)
    if not added:
        return counted(made, "edit")
    return phrase(
        "{edits} ({imports})",
        edits=counted(made, "edit"),
        imports=plural("{count} of them an added import", "{count} of them added imports", added),
    )


def _findings(findings: Sequence[Finding], places: Places) -> Iterator[Line]:
    for finding in findings:
        place = f"{file_name(places.shown(finding.file))}:{finding.start.line}:{finding.start.column}"
        marks = [phrase(_EDITS[finding.safety])] if finding.edits else []
        marks += [phrase(_HOW_SURE[finding.evidence])] if finding.evidence in _UNCERTAIN else []
        marks += (
            [phrase("only with {only_with}", only_with=in_one_line(finding.only_with))] if finding.only_with else []
        )
        yield [
            (place, "bold"),
            (f" {finding.code} ", "magenta"),
            (phrase(_SEVERITIES[finding.severity]), _COLOURS[finding.severity]),
            (f" {in_one_line(finding.message)}", ""),
            (f" [{commas(marks)}]" if marks else "", "dim"),
        ]
        if finding.advice:
            yield [(f"    {in_one_line(finding.advice)}", "dim")]


def _errors(errors: Sequence[FileError], places: Places) -> Iterator[Line]:
    for error in in_order(errors):
        place = file_name(places.shown_in_source(error.file)) + (f":{error.line}" if error.line else "")
        yield [(place, "bold"), (phrase(" not treated: "), "bold red"), (in_one_line(error.message), "")]
        if error.advice:
            yield [(f"    {in_one_line(error.advice)}", "dim")]


def _table(summary: Summary, findings: Sequence[Finding], *, migrated: bool) -> Iterator[Line]:
    width = max(len(one.name) for one in summary.by_code)
    acting = by_status(findings, migrated=migrated)
    for one in summary.by_code:
        counts = acting[one.code]
        words = acts_in_words(counts)
        yield [
            (f"  {one.code}  ", "magenta"),
            (f"{one.name.ljust(width)}  {one.count:>5}  ", ""),
            (padded(phrase(_KINDS[one.severity][one.count != 1]), 8), _COLOURS[one.severity]),
            (f"  {commas(words)}", "dim"),
        ]


def _what_edits_do(findings: Sequence[Finding]) -> Iterator[Line]:
    counts: Counter[str] = sum(by_status(findings, migrated=False).values(), Counter())
    offered = sum(one.safety is Safety.REVIEW and bool(one.edits) for one in findings)
    parts = []
    if counts["migrated"]:
        parts.append(phrase("{counts} can be edited safely (npuify migrate)", counts=counts["migrated"]))
    if counts["review"]:
        parts.append(plural("{count} needs review", "{count} need review", counts["review"]))
    if counts["manual"]:
        parts.append(plural("{count} needs manual work", "{count} need manual work", counts["manual"]))
    if counts["note"]:
        parts.append(plural("{count} is worth knowing", "{count} are worth knowing", counts["note"]))
    yield [(phrase("{parts}.", parts=semicolons(parts)), "")]
    if offered:
        told = plural(
            "For those that need review, an edit is offered (--unsafe).",
            "For those that need review, {count} edits are offered (--unsafe).",
            offered,
        )
        yield [(told, "")]


def _unread(errors: Sequence[FileError]) -> Iterator[Line]:
    if errors:
        files = counted(len({error.file for error in errors}), "file")
        yield [(phrase("Not processed properly: {files} (see above).", files=files), "bold red")]


def _aim(scan: ScanResult) -> Line:
    if is_for_tensorflow(scan):
        return [(phrase("Target: {target}.", target=scan.tensorflow).replace("..", "."), "")]
    release = scan.release
    style = phrase(" in the style {style}", style=scan.style) if scan.style != "npu" else ""
    cann = phrase(", CANN {cann}", cann=cann_in_words(release.torch_npu, release.cann)) if release.cann else ""
    reason = phrase(": {reason}", reason=release.reason) if release.reason else ""
    return [
        (
            phrase(
                "Target: torch_npu {torch_npu} (torch {torch}{cann}){style}{reason}.",
                torch_npu=release.torch_npu,
                torch=release.torch,
                cann=cann,
                style=style,
                reason=reason,
            ).replace("..", "."),
            "",
        )
    ]


def _verdict(verdict: Verdict) -> Iterator[Line]:
    yield [
        (phrase("Verdict: "), "bold"),
        (verdict.title.lower(), _LEVELS[verdict.level]),
        (phrase(". {summary}", summary=verdict.summary), ""),
    ]
    for blocker in verdict.blockers[:_SHOWN]:
        first = blocker.places[0]
        where = f"{first.file}:{first.line}" if first.line else first.file
        more = ", …" if len(blocker.places) > 1 else ""
        yield [
            (phrase("  Blocked by "), "bold red"),
            (in_one_line(phrase("{what} ({where}{more})", what=blocker.what, where=where, more=more)), ""),
        ]
        if blocker.advice:
            yield [(f"    {in_one_line(blocker.advice)}", "dim")]
    if len(verdict.blockers) > _SHOWN:
        yield [(phrase("  and by {value} more", value=len(verdict.blockers) - _SHOWN), "bold red")]
    for one in verdict.conditional[:_SHOWN]:
        first = one.places[0]
        more = ", …" if len(one.places) > 1 else ""
        where = f"({first.file}:{first.line}{more})"
        yield [(phrase("  Only with {what}: ", what=one.what), "bold"), (in_one_line(f"{one.why} {where}"), "")]
    for title, group in ((phrase("By hand: "), verdict.manual), (phrase("To review: "), verdict.review)):
        if group.count:
            yield [(f"  {title}", "bold"), (_group(group, verdict.survey), "")]
    yield from _programs(verdict.programs)
    starts = [point.file for point in verdict.survey.entry_points]
    if starts and not verdict.programs:
        yield [(phrase("  Entry points: "), "dim"), (_some(starts), "")]
    frameworks = [f"{one.name} {one.version}".strip() for one in verdict.survey.frameworks]
    if frameworks:
        yield [(phrase("  Depends on "), "dim"), (_some(frameworks), "")]
    operators = [one.what for one in verdict.operators]
    if operators:
        yield [(phrase("  Critical operators: "), "dim"), (in_one_line(_some(operators)), "")]
    parts = verdict.estimate.parts
    yield [
        (phrase("  Estimate "), "dim"),
        (hours(verdict.estimate), "bold"),
        (
            phrase(" for one person: a judgment, not a measurement; the sum of:")
            if parts
            else phrase(" for one person: a judgment, not a measurement."),
            "",
        ),
    ]
    for part in parts:
        told = phrase(
            "    {name}: {low:.1f} to {high:.1f} h ({basis})",
            name=part.name,
            low=part.low,
            high=part.high,
            basis=part.basis,
        )
        yield [(told, "dim")]


def _programs(programs: Sequence[ProgramVerdict]) -> Iterator[Line]:
    """Each program with its verdict and the first places that decide it, the worst first."""
    ordered = sorted(programs, key=lambda one: -list(Level).index(one.level))
    for one in ordered[:_MOST_PROGRAMS]:
        yield [
            (phrase("  Program "), "bold"),
            (phrase("{file}: ", file=one.file), ""),
            (one.title.lower(), _LEVELS[one.level]),
            (phrase(". {summary}", summary=one.summary), ""),
        ]
        for decides in (*one.blockers, *one.deciding)[:_DECIDING]:
            first = decides.places[0]
            where = f"{first.file}:{first.line}" if first.line else first.file
            said = phrase("{what} ({where}{more})", what=decides.what, where=where, more="")
            yield [(f"    {in_one_line(said)}", "dim")]
        if one.conditional:
            yield [
                (
                    phrase(
                        "    not unless asked for: {some}",
                        some=in_one_line(_some([switch.what for switch in one.conditional])),
                    ),
                    "dim",
                )
            ]
    rest = Counter(one.title.lower() for one in ordered[_MOST_PROGRAMS:])
    if rest:
        counts = commas(f"{count} {title}" for title, count in rest.items())
        yield [(phrase("  and {number} more programs: {counts}", number=sum(rest.values()), counts=counts), "")]


def _group(group: Group, survey: Survey) -> str:
    """How many places, by code and with the first of them: those of the program before tests and the like."""
    codes = [code for code, _ in sorted(group.by_code.items(), key=lambda item: (-item[1], item[0]))]
    ordered = sorted(group.places, key=lambda place: is_aside(place.file, survey))
    places = [f"{place.file}:{place.line}" for place in ordered]
    return phrase(
        "{places} in {files} ({codes}): {first}",
        places=counted(group.count, "place"),
        files=counted(group.files, "file"),
        codes=_some(codes),
        first=_some(places),
    )


def _some(names: Sequence[str]) -> str:
    """The first of ``names``, and how many more there are."""
    more = phrase(", and {value} more", value=len(names) - _SHOWN) if len(names) > _SHOWN else ""
    return in_one_line(commas(names[:_SHOWN])) + more
