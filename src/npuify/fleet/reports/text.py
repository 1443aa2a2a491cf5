"""A report on a fleet as text, JSON, CSV, and its schema."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.fleet.reports.report import FAILED, LEVELS, VERSION, WAITING, Report, level_title
from npuify.language import padded, phrase, plural, semicolons
from npuify.report.schemas import schema_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.fleet.reports.report import Decision, Hours, Project

_MOST: Final = 10
"""Decisions, operators and faults that the text names."""
_COLUMNS: Final = (
    *("name", "source", "revision", "state", "level", "hours_low", "hours_likely", "hours_high", "torch_npu", "files"),
    *(
        "migrated",
        "review",
        "manual",
        "notes",
        "errors",
        "blockers",
        "operators",
        "fault",
        "message",
        "report",
        "earlier",
    ),
)


def render_json(report: Report) -> str:
    """One JSON document, indented."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n"


def schema() -> str:
    """The JSON Schema of what ``npuify fleet`` writes with --format json."""
    return schema_of(Report, "fleet", VERSION, "What npuify found in many projects")


def render_csv(report: Report) -> str:
    """One line a project, behind a line with the names of the columns, which are English in each language."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for one in report.projects:
        writer.writerow([_cell(value) for value in _values(one)])
    return out.getvalue()


def _values(one: Project) -> tuple[object, ...]:
    fault = (one.fault.kind, one.fault.message) if one.fault else ("", "")
    return (
        *(one.name, one.source, one.revision, one.state, one.level),
        *(one.hours.low, one.hours.likely, one.hours.high, one.torch_npu, one.files),
        *(one.migrated, one.review, one.manual, one.notes, one.errors),
        "; ".join(dict.fromkeys(obstacle.decision or obstacle.what for obstacle in one.obstacles)),
        "; ".join(operator.name for operator in one.operators),
        *fault,
        *(one.report, one.earlier),
    )


def _cell(value: object) -> object:
    """``value`` so that no spreadsheet takes it for a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def render_text(report: Report) -> str:
    """What a person reads in a terminal."""
    return "\n".join(_lines(report)) + "\n"


def hours(value: Hours) -> str:
    """An estimate for people."""
    return phrase(
        "{likely} hours ({low} to {high})", likely=f"{value.likely:g}", low=f"{value.low:g}", high=f"{value.high:g}"
    )


def effect(one: Decision) -> str:
    """What a decision does, in a few words."""
    if not one.unlocks:
        return plural("one of the blockers of {count} project", "one of the blockers of {count} projects", one.blocks)
    alone = plural("moves {count} project", "moves {count} projects", one.unlocks)
    rest = one.blocks - one.unlocks
    if not rest:
        return alone
    return semicolons([alone, plural("{count} more needs others, too", "{count} more need others, too", rest)])


def name_of(one: Decision) -> str:
    """A decision's name for people."""
    from npuify.fleet.obstacles import REPLACE_KERNELS

    if one.name == REPLACE_KERNELS:
        return phrase("CUDA kernels with proven replacements (--replace-kernels)")
    own = one.kind == "kernels" and ":" not in one.name
    return phrase("CUDA extension {name}", name=one.name) if own else one.name


def _lines(report: Report) -> Iterator[str]:
    yield plural("{count} project, run {run}", "{count} projects, run {run}", len(report.projects), run=report.run)
    names = [name for name in (*LEVELS, FAILED, WAITING) if report.levels[name] or name in LEVELS]
    for name in names:
        yield f"  {padded(level_title(name), 24)}{report.levels[name]:>6}{_change(report, name)}"
    yield phrase(
        "Estimate: {hours}, the sum over all projects: a judgment, not a measurement.", hours=hours(report.hours)
    )
    if report.decisions:
        yield ""
        yield phrase("What one decision would unlock:")
        for one in report.decisions[:_MOST]:
            yield phrase("  {name}: {effect}", name=name_of(one), effect=effect(one))
            if one.advice:
                yield f"    {one.advice}"
        yield from _more(len(report.decisions))
    if report.operators:
        yield ""
        yield phrase("Operators without a kernel, or with limits:")
        for used in report.operators[:_MOST]:
            yield plural(
                "  {name}: {count} project, {places} in all",
                "  {name}: {count} projects, {places} in all",
                used.projects,
                name=used.name,
                places=plural("{count} place", "{count} places", used.places),
            )
        yield from _more(len(report.operators))
    failed = [one for one in report.projects if one.fault]
    if failed:
        yield ""
        yield phrase("Not scanned:")
        for project in failed[:_MOST]:
            assert project.fault is not None
            yield phrase("  {name}: {message}", name=project.name, message=project.fault.message)
            if project.fault.advice:
                yield f"    {project.fault.advice}"
        yield from _more(len(failed))


def _change(report: Report, level: str) -> str:
    """By how many projects a verdict has more or fewer than in the run before."""
    trend = report.trend
    change = report.levels[level] - trend.levels.get(level, 0) if trend else 0
    return phrase("  ({change} since run {run})", change=f"{change:+d}", run=trend.run) if trend and change else ""


def _more(count: int) -> Iterator[str]:
    if count > _MOST:
        yield phrase("  … and {count} more", count=count - _MOST)
