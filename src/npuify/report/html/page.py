"""The page: its sections, its style and its script in one text."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.html.escape import embedded, escaped, shortened
from npuify.html.frame import framed
from npuify.language import commas, phrase, told
from npuify.model import MigrationResult, ScanResult, Severity
from npuify.report.areas import area
from npuify.report.evidence import KNOWN
from npuify.report.html.charts import proportions
from npuify.report.html.code import Code
from npuify.report.html.left_alone import left_alone
from npuify.report.html.overview import actors, overview, prose
from npuify.report.html.rows import diffs, rows
from npuify.report.summary import counted, in_order
from npuify.report.verdicts.scope import is_for_tensorflow
from npuify.report.verdicts.verdict import Level, judge
from npuify.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from npuify.model import FileError, Survey
    from npuify.report.verdicts.effort import Estimate
    from npuify.report.verdicts.verdict import Blocker, Place, Verdict

_ICONS: Final = {Level.RUNS: "✓", Level.REVIEW: "◐", Level.WORK: "✎", Level.BLOCKED: "✕"}


def render(result: ScanResult | MigrationResult) -> str:
    """The whole page."""
    scan = result if isinstance(result, ScanResult) else result.scan
    verdict = judge(result)
    code = Code(result)
    table, changes = rows(result, code), diffs(code)
    script = _asset("script.js")
    data = {"words": _words(migrated=code.migrated), "rows": table, "diffs": changes}
    project = Path(scan.root).absolute().name or scan.root
    sections = [
        _header(project, result, verdict),
        _tiles(verdict, migrated=code.migrated),
        _blockers(verdict),
        _programs(verdict),
        overview(table, verdict),
        _aim(scan, table),
        _survey(verdict.survey),
        _table(table),
        _changes(changes, code),
        left_alone(scan.ledger),
        _errors(scan.errors),
        _limits(migrated=code.migrated),
    ]
    content = "".join(section for section in sections if section)
    return framed(
        f"npuify: {shortened(project, 80)}",
        style(),
        f'{content}\n<script type="application/json" id="data">{embedded(data)}</script>',
        script=script,
    )


def _words(*, migrated: bool) -> dict[str, str]:
    """What the script of the page says."""
    return {
        "migrated": phrase("edited") if migrated else phrase("edit"),
        "review": phrase("review"),
        "manual": phrase("by hand"),
        "note": phrase("note"),
        "of": phrase("{matching} of {all}", matching="{matching}", all="{all}"),
        "more": phrase("Show more ({left} left)", left="{left}"),
        "nothing": phrase("Nothing fits these filters."),
        "known": phrase("Known: {evidence}", evidence="{evidence}"),
        "source": phrase("Known: {evidence}, {source}", evidence="{evidence}", source="{source}"),
        "open": phrase("Open all"),
        "close": phrase("Close all"),
        **_levels(),
    }


def style() -> str:
    """The style sheet of the page, for pages that are to look like it."""
    return _asset("style.css")


def _header(project: str, result: ScanResult | MigrationResult, verdict: Verdict) -> str:
    scan = result if isinstance(result, ScanResult) else result.scan
    if isinstance(result, ScanResult):
        what = phrase("Scan")
    else:
        what = phrase("Migration") if result.destination else phrase("Migration, nothing written")
    level, theme = verdict.level, phrase("Light or dark")
    return (
        f'<header class="top"><div class="bar-top"><span class="brand">npuify</span>'
        f'<span class="dim">{what} · {counted(scan.files_seen, "file")}</span>'
        f'<button id="theme" type="button" title="{theme}" aria-label="{theme}">◐</button></div>'
        f'<div class="hero l-{level.value}"><div class="badge" aria-hidden="true">{_ICONS[level]}</div><div>'
        f'<p class="project"><bdi>{escaped(shortened(project, 120))}</bdi></p>'
        f"<h1>{escaped(verdict.title)}</h1><p>{escaped(verdict.summary)}</p></div>"
        f"{_hours(verdict.estimate)}</div></header><main>"
    )


def _hours(estimate: Estimate) -> str:
    if not estimate.high:
        return ""
    return (
        f'<div class="hours"><b>{estimate.likely:g}</b><span>{_unit(estimate)}</span>'
        f"<small>{phrase('a judgment, not a measurement')}</small></div>"
    )


def _unit(estimate: Estimate) -> str:
    if estimate.likely == 1:
        return phrase("hour, {low:g} to {high:g}", low=estimate.low, high=estimate.high)
    return phrase("hours, {low:g} to {high:g}", low=estimate.low, high=estimate.high)


def _tiles(verdict: Verdict, *, migrated: bool) -> str:
    counts = {
        "migrated": verdict.migrated.count,
        "review": verdict.review.count,
        "manual": verdict.manual.count,
        "note": verdict.notes,
    }
    words = {
        "migrated": (
            phrase("edited by npuify") if migrated else phrase("npuify edits"),
            phrase("places that npuify changed") if migrated else phrase("places that a migration edits"),
        ),
        "review": (phrase("to review"), phrase("an edit to review, or a warning")),
        "manual": (phrase("by hand"), phrase("will not run without manual changes")),
        "note": (phrase("notes"), phrase("worth knowing; nothing breaks")),
    }
    tiles = "".join(
        f'<button type="button" class="tile t-{key if count else "none"}" data-kind="status" data-value="{key}">'
        f"<b>{count}</b><span>{words[key][0]}</span><small>{words[key][1]}</small></button>"
        for key, count in counts.items()
    )
    return (
        f'<section class="tiles">{tiles}</section>{proportions(counts, phrase("Who has to act, by number of places"))}'
    )


def _blockers(verdict: Verdict) -> str:
    blocks = []
    if verdict.blockers:
        blocks.append(
            f'<div class="card wide"><h2>{phrase("What blocks it")}</h2>{_kinds(verdict.blockers, "blocker")}</div>'
        )
    if verdict.deciding:
        style = "two" if len(verdict.deciding) > 1 else ""
        kinds = _kinds(verdict.deciding, style)
        blocks.append(f'<div class="card wide"><h2>{phrase("What costs most")}</h2>{kinds}</div>')
    if verdict.conditional:
        style = "two" if len(verdict.conditional) > 1 else ""
        kinds = _kinds(
            [
                msgspec.structs.replace(one, what=phrase("Only with {what}", what=one.what))
                for one in verdict.conditional
            ],
            style,
        )
        blocks.append(f'<div class="card wide"><h2>{phrase("What options ask for")}</h2>{kinds}</div>')
    if verdict.operators:
        style = "two" if len(verdict.operators) > 1 else ""
        kinds = _kinds(verdict.operators, style)
        blocks.append(f'<div class="card wide"><h2>{phrase("Critical operators")}</h2>{kinds}</div>')
    return f'<section class="cards">{"".join(blocks)}</section>' if blocks else ""


def _programs(verdict: Verdict) -> str:
    """Each program with its verdict, and what decides it."""
    if not verdict.programs:
        return ""
    items = []
    for one in verdict.programs:
        decides = "".join(
            f"<p>{escaped(shortened(told(kind.what), 200))} {_where(kind.places)}</p>"
            for kind in (*one.blockers, *one.deciding)
        )
        switches = commas(f"<code>{escaped(shortened(switch.what, 80))}</code>" for switch in one.conditional)
        asked = f'<p class="dim">{phrase("More only with {what}", what=switches)}</p>' if switches else ""
        items.append(
            f"<li><p><b>{escaped(phrase(one.title))}</b> {_place(one.file, 0)}</p>"
            f'<p class="dim">{prose(one.summary)}</p>'
            f"{decides}{asked}</li>"
        )
    style = "two" if len(items) > 1 else ""
    return (
        f'<section class="cards"><div class="card wide"><h2>{phrase("Programs")}</h2>'
        f'<ul class="kinds {style}">{"".join(items)}</ul></div></section>'
    )


def _kinds(kinds: Sequence[Blocker], style: str) -> str:
    items = "".join(
        f"<li><p><b>{escaped(shortened(told(one.what), 200))}</b> {_where(one.places)}</p>"
        f'<p class="dim">{prose(one.why)}</p>' + (f"<p>→ {prose(one.advice)}</p>" if one.advice else "") + "</li>"
        for one in kinds
    )
    return f'<ul class="kinds {style}">{items}</ul>'


def _where(places: Sequence[Place]) -> str:
    first = ", ".join(_place(place.file, place.line) for place in places[:2])
    more = phrase(" and {value} more", value=len(places) - 2) if len(places) > 2 else ""
    return f'<span class="where">{first}{more}</span>'


def _place(file: str, line: int) -> str:
    shown = shortened(file, 80) + (f":{line}" if line else "")
    return f"<code><bdi>{escaped(shown)}</bdi></code>"


def _aim(scan: ScanResult, table: Sequence[Mapping[str, Any]]) -> str:
    release = scan.release
    cann = f"<dt>CANN</dt><dd>{escaped(release.cann)}</dd>" if release.cann else ""
    kinds = Counter(str(row["evidence"]) for row in table)
    known = "".join(
        f"<tr><td><b>{kind.value}</b></td><td>{phrase(text)}</td><td class='n'>{kinds[kind.value]}</td></tr>"
        for kind, text in KNOWN.items()
        if kinds[kind.value]
    )
    evidence = (
        f"<table><tbody>{known}</tbody></table>" if known else f"<p>{phrase('No finding is based on a fact.')}</p>"
    )
    target = (
        f"<dl><dt>torch_npu</dt><dd>{escaped(release.torch_npu)}</dd><dt>torch</dt><dd>{escaped(release.torch)}</dd>{cann}"
        f'</dl><p class="dim">{prose(release.reason)}</p>'
    )
    if is_for_tensorflow(scan):
        target = f"<p>{prose(scan.tensorflow)}</p>"
    return (
        f'<section class="cards"><div class="card"><h2>{phrase("Target release")}</h2>{target}</div>'
        f'<div class="card"><h2>{phrase("Evidence for the facts")}</h2>{evidence}</div></section>'
    )


def _survey(survey: Survey) -> str:
    cards = []
    if survey.entry_points:
        body = "".join(
            f"<tr><td>{_place(point.file, 0)}</td><td>{escaped(phrase(first.kind))} <span class='dim'>"
            f"{_place(first.file, first.line)}</span>"
            + (f"<br><code class='dim'><bdi>{escaped(shortened(first.text, 110))}</bdi></code>" if first.text else "")
            + "</td></tr>"
            for point in survey.entry_points
            for first in point.mentions[:1]
        )
        count = len(survey.entry_points)
        cards.append(
            f'<div class="card"><h2>{phrase("Entry points")} <small>{count}</small></h2>'
            f'<div class="scroll"><table class="fixed"><tbody>{body}</tbody></table></div></div>'
        )
    if survey.frameworks:
        cuda = " <span class='chip'>CUDA</span>"
        body = "".join(
            f"<tr><td><b>{escaped(shortened(one.name, 60))}</b>{cuda if one.cuda_only else ''}</td><td>"
            + (
                f"<code>{escaped(shortened(one.version, 60))}</code> <span class='dim'>"
                f"{escaped(shortened(one.required_by, 60))}</span>"
                if one.version
                else f"<span class='dim'>{phrase('no version asked for')}</span>"
            )
            + f"</td><td class='n'>{counted(one.files, 'file')}</td></tr>"
            for one in survey.frameworks
        )
        cards.append(
            f'<div class="card"><h2>{phrase("Dependencies")} <small>{len(survey.frameworks)}</small></h2>'
            f'<div class="scroll"><table><tbody>{body}</tbody></table></div></div>'
        )
    return f'<section class="cards">{"".join(cards)}</section>' if cards else ""


def _table(table: Sequence[Mapping[str, Any]]) -> str:
    if not table:
        return f'<section class="card"><h2>{phrase("Findings")}</h2><p>{phrase("No work was found.")}</p></section>'
    without = phrase("The table needs its small script; the other formats of npuify contain the same as text.")
    options = "".join(f"<option>{escaped(name)}</option>" for name in sorted({area(row["code"]) for row in table}))
    severities = "".join(f'<option value="{name}">{level}</option>' for name, level in _levels().items())
    statuses = "".join(f'<option value="{key}">{word}</option>' for key, word in actors().items())
    return (
        f'<section class="card" id="findings"><h2>{phrase("Findings")} '
        f'<small id="count" role="status">{len(table)}</small></h2>'
        '<div class="filters">'
        f'<input id="q" type="search" placeholder="{phrase("Search file, code, message…")}" '
        f'aria-label="{phrase("Search")}">'
        f'<select id="status" aria-label="{phrase("Who acts")}"><option value="">{phrase("Anyone")}'
        f"</option>{statuses}</select>"
        f'<select id="severity" aria-label="{phrase("Severity")}"><option value="">{phrase("Any severity")}'
        f"</option>{severities}</select>"
        f'<select id="area" aria-label="{phrase("Area")}"><option value="">{phrase("All areas")}</option>{options}'
        "</select>"
        f'<select id="file" aria-label="{phrase("File")}"><option value="">{phrase("All files")}</option></select>'
        f'<button id="clear" type="button">{phrase("Clear")}</button></div>'
        f'<table class="findings"><thead><tr>{_sortable()}</tr></thead><tbody id="rows"></tbody></table>'
        f'<button id="more" type="button" hidden>{phrase("Show more")}</button>'
        f"<noscript><p>{without}</p>"
        "</noscript></section>"
    )


def _levels() -> dict[str, str]:
    return {one.value: phrase(one.value) for one in Severity}


def _sortable() -> str:
    columns = {
        "status": phrase("who"),
        "severity": phrase("severity"),
        "code": phrase("code"),
        "place": phrase("place"),
        "message": phrase("what"),
    }
    return "".join(
        f'<th scope="col"><button type="button" data-sort="{key}" title="{phrase("Sort by this")}">{word}</button></th>'
        for key, word in columns.items()
    )


def _changes(changes: Sequence[Mapping[str, Any]], code: Code) -> str:
    if not code.migrated:
        return ""
    if not changes:
        why = phrase("Too much for one page: see changes.csv.") if code.diffs else phrase("No file changes.")
        return f'<section class="card"><h2>{phrase("Changes")}</h2><p>{why}</p></section>'
    added, removed = (sum(one[key] for one in changes) for key in ("added", "removed"))
    return (
        f'<section class="card" id="changes"><h2>{phrase("Changes")} <small>{counted(len(changes), "file")}, '
        f'<span class="plus">+{added}</span> <span class="minus">−{removed}</span></small></h2>'
        f'<p><button id="open-all" type="button">{phrase("Open all")}</button></p><div id="diffs"></div></section>'
    )


def _errors(errors: Sequence[FileError]) -> str:
    if not errors:
        return ""
    items = "".join(
        f"<li><p>{_place(error.file, error.line)} {prose(error.message)}</p>"
        + (f"<p class='dim'>→ {prose(error.advice)}</p>" if error.advice else "")
        + "</li>"
        for error in in_order(errors)
    )
    return f'<section class="card"><h2>{phrase("Not processed properly")}</h2><ul class="kinds">{items}</ul></section>'


def _limits(*, migrated: bool) -> str:
    ran = (
        phrase(
            "Nothing was run to make this report: neither the original nor the migrated program, and nothing on an "
            "Ascend NPU. It is based on facts about the release named above; results, speed and memory must be "
            "compared on the machine. `npuify explain CODE` explains a code."
        )
        if migrated
        else phrase(
            "Nothing was run to make this report: nothing at all. It is based on facts about the release named above; "
            "results, speed and memory must be compared on the machine. `npuify explain CODE` explains a code."
        )
    )
    made = phrase("Made by npuify {version}. This file loads nothing from anywhere.", version=escaped(__version__))
    return f'<section class="limits"><p>{prose(ran)}</p><p>{made}</p></section></main>'


def _asset(name: str) -> str:
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    if re.search(r"</(?:style|script)", text):
        raise ValueError(f"{name} would end its own element")
    return text
