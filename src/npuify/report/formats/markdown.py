"""Markdown: the report that stays with a migrated project, to read and to tick off."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from npuify.language import commas, phrase, semicolons, sentences
from npuify.model import Evidence, MigrationResult, ScanResult
from npuify.report.addresses import rule_address
from npuify.report.formats.markdown_findings import checklist
from npuify.report.formats.markdown_text import cell, code_cell, inline_code, prose, sentence, shortened
from npuify.report.ledger import in_words, ledger_of
from npuify.report.summary import acts_in_words, in_order, summarise
from npuify.report.verdicts.scope import is_for_tensorflow
from npuify.report.verdicts.verdict import by_status, hours, judge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.model import Change, FileError, Finding
    from npuify.report.summary import Summary
    from npuify.report.verdicts.verdict import Group, Place, Verdict


def render(result: ScanResult | MigrationResult) -> str:
    """The whole page."""
    page = _scan(result) if isinstance(result, ScanResult) else _migration(result)
    return "\n".join(page).rstrip("\n") + "\n"


def _scan(result: ScanResult) -> Iterator[str]:
    summary = summarise(result, result.findings)
    yield from (phrase("# npuify: what this project needs to run on the NPU"), "")
    yield from _numbers(
        (phrase("Project"), _folder(result.root)),
        (phrase("Files seen"), str(summary.files_seen)),
        (phrase("Files with findings"), str(summary.files_with_findings)),
        *_severities(summary),
        *_ledger(result),
    )
    yield from _verdict(judge(result), phrase("npuify will change"))
    yield from _release(result)
    yield from (phrase("## What was found"), "")
    yield from _by_code(summary, result.findings, migrated=False)
    yield from checklist(result.findings, nothing=phrase("No work was found."), migrated=False)
    yield from _errors(result.errors)
    yield from _limits(result.findings, migrated=False, for_tensorflow=is_for_tensorflow(result))


def _migration(result: MigrationResult) -> Iterator[str]:
    scan = result.scan
    summary = summarise(scan, result.left)
    yield from (phrase("# npuify: migration report"), "")
    yield from _numbers(
        (phrase("Source"), _folder(scan.root)),
        *(
            [(phrase("Migrated copy"), code_cell(result.destination))]
            if result.destination not in {"", scan.root}
            else []
        ),
        (phrase("Files seen"), str(summary.files_seen)),
        (phrase("Files changed"), str(len(result.changed_files))),
        (phrase("Edits"), str(len(result.changes))),
        *_severities(summary, phrase("Left: ")),
        *_ledger(scan),
    )
    yield from _verdict(judge(result), phrase("npuify changed"))
    yield from _release(scan)
    yield from (phrase("## What was changed"), "")
    yield from _changes(result.changes)
    yield from (phrase("## What is left to do"), "")
    if result.left:
        yield from (
            phrase("Lines are those of the migrated files. `npuify explain CODE` (or a CUDA name) explains an entry."),
            "",
        )
        yield from _by_code(summary, result.left, migrated=True)
    yield from checklist(result.left, nothing=phrase("Nothing that npuify knows of."), migrated=True)
    yield from _errors(scan.errors)
    yield from _limits(result.left, migrated=True, for_tensorflow=is_for_tensorflow(result.scan))


def _numbers(*rows: tuple[str, str]) -> Iterator[str]:
    yield from ("| | |", "|---|---|")
    yield from (f"| {name} | {value} |" for name, value in rows)
    yield ""


def _ledger(scan: ScanResult) -> tuple[tuple[str, str], ...]:
    counts = in_words(ledger_of(scan.ledger))
    return ((phrase("Places that concern CUDA"), counts),) if counts else ()


def _folder(root: str) -> str:
    """A folder as it was given; where that was ``.`` or ``..``, its name."""
    path = Path(root)
    return code_cell(root if path.name not in ("", "..") else path.resolve().name or root)


def _severities(summary: Summary, before: str = "") -> tuple[tuple[str, str], ...]:
    words = (
        ("error", phrase("errors (will not run)")),
        ("warning", phrase("warnings (may run wrong or slowly)")),
        ("info", phrase("notes (nothing breaks)")),
    )
    return tuple((sentence(before + text), str(summary.by_severity[key])) for key, text in words)


def _release(scan: ScanResult) -> Iterator[str]:
    release = scan.release
    yield from (phrase("## Target release"), "")
    if is_for_tensorflow(scan):
        yield from (phrase("{text}.", text=prose(scan.tensorflow.rstrip("."))), "")
        return
    cann = phrase(" and CANN {version}", version=prose(release.cann)) if release.cann else ""
    yield phrase(
        "**torch_npu {text}**, with torch {text2}{cann}.",
        text=prose(release.torch_npu),
        text2=prose(release.torch),
        cann=cann,
    )
    if release.reason:
        yield phrase("Why: {reason}.", reason=prose(release.reason.removesuffix(".")))
    if scan.style != "npu":
        yield phrase("Style: {style}.", style=prose(scan.style))
    yield ""


def _verdict(verdict: Verdict, migrated: str) -> Iterator[str]:
    yield from (phrase("## How much work is it?"), "")
    yield from (sentences(phrase("**{title}.**", title=phrase(verdict.title)), prose(verdict.summary)), "")
    yield from (phrase("Estimate: **{hours}** for one person.", hours=hours(verdict.estimate)), "")
    if verdict.blockers:
        yield from (phrase("What blocks everything else:"), "")
        for one in verdict.blockers:
            # What has a line is ticked off below, at its place.
            box = "" if one.places[0].line else "[ ] "
            yield f"- {box}" + phrase(
                "**{what}**: {why} {places}", what=prose(one.what), why=prose(one.why), places=_where(one.places)
            )
            if one.advice:
                yield phrase("  - What to do: {text}", text=prose(one.advice))
        yield ""
    if verdict.deciding:
        yield from (phrase("What else costs most:") if verdict.blockers else phrase("What costs most:"), "")
        yield from (
            "- " + phrase("{what}: {why} {places}", what=prose(one.what), why=prose(one.why), places=_where(one.places))
            for one in verdict.deciding
        )
        yield ""
    if verdict.conditional:
        yield from (phrase("What matters only where it is asked for:"), "")
        yield from (
            phrase(
                "- Only with `{text}`: {text2} {where}",
                text=prose(one.what),
                text2=prose(one.why),
                where=_where(one.places),
            )
            for one in verdict.conditional
        )
        yield ""
    if verdict.operators:
        yield from (phrase("Operators that determine whether it runs, and how fast:"), "")
        yield from (
            "- " + phrase("{what}: {why} {places}", what=prose(one.what), why=prose(one.why), places=_where(one.places))
            for one in verdict.operators
        )
        yield ""
    if any(group.count for group in (verdict.migrated, verdict.review, verdict.manual)):
        yield from (phrase("| action | places | files | codes |"), "|---|---:|---:|---|")
        yield _group_row(migrated, verdict.migrated)
        yield _group_row(phrase("to review"), verdict.review)
        yield _group_row(phrase("by hand"), verdict.manual)
        yield ""
    if verdict.estimate.parts:
        yield from (phrase("| part of the estimate | hours, low | high | counted |"), "|---|---:|---:|---|")
        for part in verdict.estimate.parts:
            yield f"| {cell(part.name)} | {part.low:.1f} | {part.high:.1f} | {cell(part.basis)} |"
        yield ""
        yield from (sentences(*map(prose, verdict.estimate.how)), "")
    yield from _programs(verdict)
    yield from _survey(verdict)


def _programs(verdict: Verdict) -> Iterator[str]:
    if not verdict.programs:
        return
    yield from (
        phrase("### Programs"),
        "",
        phrase("| program | verdict | what decides it | only with |"),
        "|---|---|---|---|",
    )
    for one in verdict.programs:
        decides = semicolons(
            phrase("{what} {places}", what=cell(kind.what), places=_where(kind.places))
            for kind in (*one.blockers, *one.deciding)
        )
        asked = commas(code_cell(switch.what) for switch in one.conditional)
        said = sentences(phrase("{title}.", title=phrase(one.title)), cell(one.summary))
        yield f"| {code_cell(one.file)} | {said} | {decides} | {asked} |"
    yield ""


def _survey(verdict: Verdict) -> Iterator[str]:
    survey = verdict.survey
    if survey.entry_points:
        yield from (phrase("### Entry points"), "", phrase("| file | how it was found |"), "|---|---|")
        for point in survey.entry_points:
            first = point.mentions[0]
            shown = [cell(phrase(first.kind)), code_cell(f"{first.file}:{first.line}")]
            shown += [code_cell(first.text)] if first.text else []
            yield f"| {code_cell(point.file)} | {commas(shown)} |"
        yield ""
    if survey.frameworks:
        yield from (
            phrase("### Dependencies"),
            "",
            phrase("| package | required version | files that import it |"),
            "|---|---|---:|",
        )
        for one in survey.frameworks:
            asked = (
                phrase("{version} in {file}", version=code_cell(one.version), file=code_cell(one.required_by))
                if one.version
                else phrase("not specified")
            )
            cuda = phrase(" (published for CUDA)") if one.cuda_only else ""
            yield f"| {cell(one.name)}{cuda} | {asked} | {one.files} |"
        yield ""


def _group_row(name: str, group: Group) -> str:
    codes = commas(
        phrase("{code} ({count})", code=code, count=count)
        for code, count in sorted(group.by_code.items(), key=lambda item: -item[1])
    )
    return f"| {name} | {group.count} | {group.files} | {codes} |"


def _where(places: Sequence[Place]) -> str:
    """The first places, in brackets."""
    named = [inline_code(f"{place.file}:{place.line}" if place.line else place.file) for place in places[:3]]
    more = phrase(" and {value} more", value=len(places) - 3) if len(places) > 3 else ""
    return phrase("({places}{more})", places=commas(named), more=more) if named else ""


def _by_code(summary: Summary, findings: Sequence[Finding], *, migrated: bool) -> Iterator[str]:
    if not summary.by_code:
        return
    acting = by_status(findings, migrated=migrated)
    yield from (phrase("| code | name | places | severity | action |"), "|---|---|---:|---|---|")
    for one in summary.by_code:
        counts = acting[one.code]
        words = acts_in_words(counts)
        address = rule_address(one.code)
        code = f"[{one.code}]({address})" if address else one.code
        yield f"| {code} | {cell(one.name)} | {one.count} | {phrase(one.severity.value)} | {commas(words)} |"
    yield ""


def _changes(changes: Sequence[Change]) -> Iterator[str]:
    if not changes:
        yield from (phrase("Nothing: no edit was needed, or none could be made."), "")
        return
    yield from (phrase("Every edit, with its lines, is in `npuify-report/changes.csv`."), "")
    yield from (phrase("| code | name | edits | files | for example |"), "|---|---|---:|---:|---|")
    groups: dict[tuple[str, str], list[Change]] = {}
    for change in changes:
        groups.setdefault((change.code, change.name), []).append(change)
    for (code, name), group in sorted(groups.items()):
        files = len({change.file for change in group})
        yield f"| {code} | {cell(name)} | {len(group)} | {files} | {_example(group)} |"
    yield ""
    yield from (phrase("| file | edits |"), "|---|---:|")
    for file, count in sorted(Counter(change.file for change in changes).items()):
        yield f"| {code_cell(file)} | {count} |"
    yield ""


def _example(changes: Sequence[Change]) -> str:
    """What is said most often of these changes."""
    ((message, _),) = Counter(change.message for change in changes).most_common(1)
    return prose(shortened(message, 120), code=code_cell)


def _errors(errors: Sequence[FileError]) -> Iterator[str]:
    if not errors:
        return
    yield from (phrase("## Files that could not be processed properly"), "")
    for error in in_order(errors):
        place = (
            phrase("{file} line {line}", file=inline_code(error.file), line=error.line)
            if error.line
            else inline_code(error.file)
        )
        yield phrase("- [ ] {place}: {message}", place=place, message=prose(error.message))
        if error.advice:
            yield phrase("  - What to do: {text}", text=prose(error.advice))
    yield ""


def _limits(findings: Sequence[Finding], *, migrated: bool, for_tensorflow: bool) -> Iterator[str]:
    yield from (phrase("## What this report does not cover"), "")
    if migrated:
        yield phrase("- Nothing was run: neither the original nor the migrated program, and nothing on an Ascend NPU.")
    else:
        yield phrase("- Nothing was run, and nothing on an Ascend NPU.")
    if for_tensorflow:
        yield phrase(
            "- It is based on facts about the TensorFlow adapter, read from its sources and its documentation. "
            "Results, speed and memory must be compared on the machine."
        )
    else:
        yield phrase(
            "- It is based on facts about the torch_npu release named above, read from the released package and "
            "from documentation. Results, speed and memory must be compared on the machine."
        )
    kinds = Counter(finding.evidence.value for finding in findings)
    if kinds:
        listed = commas(f"{kind.value} {kinds[kind.value]}" for kind in Evidence if kinds[kind.value])
        yield phrase("- Evidence for the facts behind the entries above: {listed}.", listed=listed)
    yield ""
