"""The page that shows a whole fleet: one file that opens offline, with a link to each project's own report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from npuify.fleet.reports.report import FAILED, LEVELS, WAITING, level_title
from npuify.fleet.reports.text import effect, hours, name_of
from npuify.fleet.store import PAGE
from npuify.html.escape import escaped, shortened
from npuify.html.frame import framed
from npuify.language import commas, phrase, plural
from npuify.report.html import style as style_of_reports
from npuify.rewrite.tree import replace_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from npuify.fleet.model import Obstacle
    from npuify.fleet.reports.report import Decision, Move, Project, Report, Trend

_STYLE_OF: Final = {"runs": "migrated", "review": "review", "work": "review", "blocked": "manual", FAILED: "note"}
"""The colours of verdicts, by the names that they have in the reports of single projects."""
_SHOWN: Final = 25
"""Decisions and operators that are drawn; the other formats have all."""
_NAMED: Final = 12
"""Projects that are named in a row."""


def write_page(folder: Path, report: Report) -> None:
    """Write the page into the folder of the fleet, whole or not at all.

    Raises:
        NpuifyError: it cannot be written.
    """
    replace_files(folder, {PAGE: render_html(report).encode("utf-8", "backslashreplace")})


def render_html(report: Report) -> str:
    """The whole page."""
    here = Path(__file__).parent
    style = style_of_reports() + (here / "page.css").read_text(encoding="utf-8")
    sections = (
        _header(report),
        _decisions(report.decisions),
        _operators(report),
        _trend(report.trend, report),
        _failed([one for one in report.projects if one.fault]),
        _table(report),
        _limits(report),
    )
    title = plural("npuify: {count} project", "npuify: {count} projects", len(report.projects))
    return framed(
        title, style, "\n".join(filter(None, sections)), script=(here / "page.js").read_text(encoding="utf-8")
    )


def _header(report: Report) -> str:
    counts = {name: report.levels[name] for name in (*reversed(LEVELS), FAILED, WAITING)}
    tiles = "".join(
        f'<button type="button" class="tile t-{_STYLE_OF.get(name, "note") if count else "none"}" data-level="{name}">'
        f"<b>{count}</b><span>{escaped(level_title(name))}</span></button>"
        for name, count in counts.items()
        if count or name in LEVELS
    )
    total = len(report.projects)
    when = report.ended or phrase("not whole yet")
    return (
        '<header class="top"><div class="bar-top"><span class="brand">npuify</span>'
        f'<span class="dim">{escaped(phrase("run {run} · {when}", run=report.run, when=when))}</span>'
        f'<button id="theme" type="button" aria-label="{escaped(phrase("Light or dark"))}">◐</button></div>'
        f'<div class="hero"><div><p class="project"><bdi>{escaped(shortened(report.list, 120))}</bdi></p>'
        f"<h1>{escaped(plural('{count} project', '{count} projects', total))}</h1></div>"
        f'<div class="hours"><b>{report.hours.likely:g}</b><span>{escaped(_range(report))}</span>'
        f"<small>{escaped(phrase('a judgment, not a measurement'))}</small></div></div></header>"
        f'<main><section class="tiles">{tiles}</section>{_proportions(counts, total)}'
    )


def _range(report: Report) -> str:
    low, high = f"{report.hours.low:g}", f"{report.hours.high:g}"
    return phrase("hours in all, {low} to {high}", low=low, high=high)


def _proportions(counts: dict[str, int], total: int) -> str:
    x, parts = 0.0, []
    for name, count in counts.items():
        if count:
            width = 1000 * count / total
            parts.append(
                f'<rect class="s-{_STYLE_OF.get(name, "note")} v-{name}" x="{x:.1f}" width="{max(width - 2, 2):.1f}" '
                f'height="12"><title>{count} {escaped(level_title(name))}</title></rect>'
            )
            x += width
    return (
        '<svg class="proportions" viewBox="0 0 1000 12" preserveAspectRatio="none" role="img" '
        f'aria-label="{escaped(phrase("Projects by verdict"))}">{"".join(parts)}</svg>'
    )


# --- what blocks ---


def _decisions(decisions: Sequence[Decision]) -> str:
    if not decisions:
        return ""
    most = max(one.blocks for one in decisions)
    items = "".join(_decision(one, number, most) for number, one in enumerate(decisions[:_SHOWN]))
    return (
        f'<section class="cards"><div class="card wide"><h2>{escaped(phrase("What one decision would unlock"))}</h2>'
        f'<p class="dim">{escaped(phrase("Dark: projects that nothing else blocks. Light: something else does, too."))}'
        f'</p><ul class="chart decisions">{items}</ul>{_more(len(decisions))}</div></section>'
    )


def _decision(one: Decision, number: int, most: int) -> str:
    alone, all_ = 1000 * one.unlocks / most, 1000 * one.blocks / most
    return (
        f'<li><button type="button" class="bar" data-decision="{number}">'
        f'<span class="label"><bdi>{escaped(shortened(name_of(one), 70))}</bdi></span>'
        '<svg viewBox="0 0 1000 16" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="others" width="{all_:.1f}" height="16"/>'
        f'<rect class="alone" width="{alone:.1f}" height="16"/></svg>'
        f'<span class="value">{escaped(effect(one))}</span></button>'
        + (f'<p class="dim">→ {escaped(shortened(one.advice, 300))}</p>' if one.advice else "")
        + (f'<p class="dim">{escaped(hours(one.hours))}: {_names(one.projects)}</p>' if one.unlocks else "")
        + "</li>"
    )


def _operators(report: Report) -> str:
    if not report.operators:
        return ""
    most = report.operators[0].projects
    items = "".join(
        f'<li class="bar"><span class="label"><bdi>{escaped(shortened(one.name, 60))}</bdi></span>'
        '<svg viewBox="0 0 1000 16" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="range" width="{1000 * one.projects / most:.1f}" height="16"/></svg>'
        f'<span class="value">{escaped(plural("{count} project", "{count} projects", one.projects))}</span></li>'
        for one in report.operators[:_SHOWN]
    )
    title = escaped(phrase("Operators without a kernel, or with limits"))
    return (
        f'<section class="cards"><div class="card wide"><h2>{title}</h2><ul class="chart">{items}</ul>'
        f"{_more(len(report.operators))}</div></section>"
    )


def _more(count: int) -> str:
    if count <= _SHOWN:
        return ""
    return f'<p class="dim">{escaped(phrase("… and {count} more", count=count - _SHOWN))}</p>'


def _names(names: Sequence[str]) -> str:
    shown = escaped(commas([shortened(one, 60) for one in names[:_NAMED]]))
    if len(names) <= _NAMED:
        return f"<bdi>{shown}</bdi>"
    return f"<bdi>{shown}</bdi> {escaped(phrase('and {count} more', count=len(names) - _NAMED))}"


# --- what has changed ---


def _trend(trend: Trend | None, report: Report) -> str:
    if trend is None:
        return ""
    rows = [
        (level_title(name), trend.levels.get(name, 0), report.levels[name])
        for name in (*LEVELS, FAILED)
        if trend.levels.get(name) or report.levels[name]
    ]
    body = "".join(
        f"<tr><td>{escaped(title)}</td><td class='n'>{before}</td><td class='n'>{now}</td>"
        f"<td class='n'>{now - before:+d}</td></tr>"
        for title, before, now in rows
    )
    change = report.hours.likely - trend.hours.likely
    body += (
        f"<tr><td>{escaped(phrase('Hours'))}</td><td class='n'>{trend.hours.likely:g}</td>"
        f"<td class='n'>{report.hours.likely:g}</td><td class='n'>{change:+.3g}</td></tr>"
    )
    head = "".join(f"<th>{escaped(one)}</th>" for one in ("", phrase("then"), phrase("now"), phrase("change")))
    lists = (
        _moves(phrase("Better"), trend.better),
        _moves(phrase("Worse"), trend.worse),
        _listed(phrase("New in the list"), trend.new),
        _listed(phrase("No longer in the list"), trend.gone),
    )
    title = phrase("Since run {run}, {ended}", run=trend.run, ended=trend.ended)
    return (
        f'<section class="cards"><div class="card wide"><h2>{escaped(title)}</h2>'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{''.join(lists)}</div></section>"
    )


def _moves(title: str, moves: Sequence[Move]) -> str:
    if not moves:
        return ""
    items = "".join(
        f"<li><bdi>{escaped(shortened(one.name, 80))}</bdi>: {escaped(level_title(one.before))} → "
        f"{escaped(level_title(one.now))}</li>"
        for one in moves
    )
    return f"<details><summary>{escaped(title)} ({len(moves)})</summary><ul>{items}</ul></details>"


def _listed(title: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    items = "".join(f"<li><bdi>{escaped(shortened(one, 80))}</bdi></li>" for one in names)
    return f"<details><summary>{escaped(title)} ({len(names)})</summary><ul>{items}</ul></details>"


# --- projects ---


def _failed(projects: Sequence[Project]) -> str:
    if not projects:
        return ""
    items = "".join(
        f"<li><p><b><bdi>{escaped(shortened(one.name, 80))}</bdi></b> {escaped(one.fault.message)}</p>"
        + (f'<p class="dim">→ {escaped(one.fault.advice)}</p>' if one.fault.advice else "")
        + "</li>"
        for one in projects
        if one.fault
    )
    return (
        f'<section class="card"><h2>{escaped(phrase("Not scanned"))} <small>{len(projects)}</small></h2>'
        f'<ul class="kinds">{items}</ul></section>'
    )


def _table(report: Report) -> str:
    projects = report.projects
    columns = (
        ("name", phrase("Project"), ""),
        ("level", phrase("Verdict"), ""),
        ("hours", phrase("Hours"), "n"),
        ("migrated", phrase("Edited"), "n"),
        ("review", phrase("To review"), "n"),
        ("manual", phrase("By hand"), "n"),
    )
    head = "".join(
        f'<th scope="col" class="{kind}"><button type="button" data-sort="{key}">{escaped(word)}</button></th>'
        for key, word, kind in columns
    )
    options = "".join(
        f'<option value="{name}">{escaped(level_title(name))}</option>' for name in (*reversed(LEVELS), FAILED)
    )
    numbers: dict[tuple[str, str], int] = {(one.kind, one.name): number for number, one in enumerate(report.decisions)}
    rows = "".join(_row(one, numbers) for one in projects)
    search = escaped(phrase("Search projects, packages, operators…"))
    return (
        f'<section class="card" id="projects"><h2>{escaped(phrase("Projects"))} '
        f'<small id="count" role="status">{len(projects)}</small></h2><div class="filters">'
        f'<input id="q" type="search" placeholder="{search}" aria-label="{search}">'
        f'<select id="level" aria-label="{escaped(phrase("Verdict"))}"><option value="">'
        f"{escaped(phrase('All verdicts'))}</option>{options}</select>"
        f'<button id="clear" type="button">{escaped(phrase("Clear"))}</button></div>'
        f'<table class="fleet"><thead><tr>{head}</tr></thead><tbody id="rows">{rows}</tbody></table></section>'
    )


def _row(one: Project, numbers: Mapping[tuple[str, str], int]) -> str:
    level = one.level or one.state
    rank = LEVELS.index(level) if level in LEVELS else len(LEVELS)
    waits = dict.fromkeys((each.kind, each.decision or each.what) for each in one.obstacles)
    words = [one.name, one.source, *(name for _, name in waits), *(each.name for each in one.operators)]
    waiting = " ".join(str(numbers[key]) for key in waits)
    return (
        f'<tr data-level="{level}" data-words="{escaped(" ".join(words).lower())}" data-waits="{waiting}" '
        f'data-rank="{rank}" data-hours="{one.hours.likely:g}" '
        f'data-migrated="{one.migrated}" data-review="{one.review}" data-manual="{one.manual}">'
        f"<td><details><summary><bdi>{escaped(shortened(one.name, 80))}</bdi></summary>{_detail(one)}</details></td>"
        f'<td><span class="chip {_STYLE_OF.get(level, "note")}">{escaped(level_title(level))}</span></td>'
        f'<td class="n">{one.hours.likely:g}</td><td class="n">{one.migrated}</td><td class="n">{one.review}</td>'
        f'<td class="n">{one.manual}</td></tr>'
    )


def _detail(one: Project) -> str:
    parts = [f'<p class="dim"><code><bdi>{escaped(shortened(one.source, 200))}</bdi></code>']
    if one.revision:
        parts.append(f" @ <code>{escaped(one.revision)}</code>")
    parts.append("</p>")
    if one.fault:
        parts.append(f"<p>{escaped(one.fault.message)}</p><p>→ {escaped(one.fault.advice)}</p>")
    if one.summary:
        parts.append(f"<p>{escaped(one.summary)}</p>")
    parts += [_obstacle(each) for each in one.obstacles]
    if one.operators:
        parts.append(_line(phrase("Operators: "), (each.name for each in one.operators)))
    if one.level:
        parts.append(f"<p>{escaped(hours(one.hours))} · torch_npu {escaped(one.torch_npu)}</p>")
    if one.earlier and one.earlier != one.level:
        before = phrase("In the run before: {level}", level=level_title(one.earlier))
        parts.append(f'<p class="dim">{escaped(before)}</p>')
    if one.report:
        parts.append(f'<p><a href="{escaped(one.report)}">{escaped(phrase("Its own report"))}</a></p>')
    return "".join(parts)


def _obstacle(one: Obstacle) -> str:
    advice = f"<br>→ {escaped(one.advice)}" if one.advice else ""
    what = escaped(shortened(one.what, 200))
    return f'<p class="obstacle"><b>{what}</b><br><span class="dim">{escaped(one.why)}</span>{advice}</p>'


def _line(title: str, names: Iterable[str]) -> str:
    return f'<p class="dim">{escaped(title)}{escaped(commas(names))}</p>'


def _limits(report: Report) -> str:
    text = phrase(
        "Nothing was run to make this page. Hours are a judgment on each project alone; what several share costs less "
        "than the sum. A project that a decision unlocks is no longer blocked; the rest of its work stays."
    )
    made = phrase("Made by npuify {version}. This file loads nothing from anywhere.", version=report.tool.version)
    return f'<section class="limits"><p>{escaped(text)}</p><p>{escaped(made)}</p></section></main>'
