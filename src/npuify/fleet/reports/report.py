"""What a run of a fleet comes to: verdicts, hours, what blocks, what a decision would unlock, and what has changed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta

from npuify.fleet.model import Obstacle, Operator
from npuify.language import phrase
from npuify.model import NpuifyError
from npuify.report.verdicts.levels import TITLES, Level
from npuify.version import __version__

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Mapping, Sequence

    from npuify.fleet.store import Run, Store

VERSION: Literal[1] = 1
"""Version of the format: raised when something is removed or changes its meaning, not when something is added."""
LEVELS: Final = tuple(one.value for one in Level)
_Level = Literal["", "runs", "review", "work", "blocked"]
FAILED: Final = "failed"
WAITING: Final = "waiting"


class Tool(msgspec.Struct, frozen=True):
    """What wrote this."""

    name: str
    version: str


class Hours(msgspec.Struct, frozen=True):
    """An estimate for one person, a judgment and no measurement."""

    low: float
    likely: float
    high: float


class Fault(msgspec.Struct, frozen=True):
    """Why a project could not be scanned, and what to do."""

    kind: Annotated[
        Literal["missing", "time", "memory", "size", "crash", "git", "settings", "bug"],
        Meta(description="What stood in the way."),
    ]
    message: str
    advice: str


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """One project of the run."""

    name: str
    source: Annotated[str, Meta(description="The folder, or the address for git.")]
    revision: Annotated[str, Meta(description="The commit that was looked at; empty for a folder.")]
    state: Annotated[Literal["done", "failed", "waiting"], Meta(description="waiting: the run is not whole.")]
    level: Annotated[_Level, Meta(description="The verdict; empty where there is none.")]
    title: str
    summary: str
    hours: Hours
    torch_npu: Annotated[str, Meta(description="The release aimed at.")]
    files: int
    bytes: int
    migrated: int
    review: int
    manual: int
    notes: int
    errors: Annotated[int, Meta(description="Files that could not be processed properly.")]
    obstacles: Annotated[tuple[Obstacle, ...], Meta(description="What blocks it.")]
    operators: Annotated[tuple[Operator, ...], Meta(description="Without a kernel, or with limits.")]
    codes: Annotated[dict[str, int], Meta(description="How often each code was found.")]
    fault: Fault | None
    seconds: float
    made: Annotated[str, Meta(description="When it was scanned, in UTC.")]
    report: Annotated[str, Meta(description="Its own report, relative to the folder; empty where there is none.")]
    earlier: Annotated[_Level, Meta(description="The verdict in the run before.")]


class Decision(msgspec.Struct, frozen=True):
    """One thing to decide, for all projects that wait for it."""

    kind: Annotated[Literal["package", "kernels", "framework"], Meta(description="kernels: code of the projects' own.")]
    name: str
    advice: Annotated[str, Meta(description="What to take instead, as most of the projects are told.")]
    blocks: Annotated[int, Meta(description="Projects that it blocks, alone or with others.")]
    unlocks: Annotated[int, Meta(description="Projects that nothing else blocks.")]
    hours: Annotated[Hours, Meta(description="Of the projects that it unlocks, as a whole.")]
    projects: Annotated[tuple[str, ...], Meta(description="Names of those that it unlocks.")]
    others: Annotated[tuple[str, ...], Meta(description="Names of those that something else blocks, too.")]


class Used(msgspec.Struct, frozen=True):
    """An operator without a kernel, or with limits."""

    name: str
    projects: int
    places: int


class Move(msgspec.Struct, frozen=True):
    """A project whose verdict is another than in the run before."""

    name: str
    before: str
    now: str


class Trend(msgspec.Struct, frozen=True):
    """This run against the one before."""

    run: int
    ended: str
    levels: dict[str, int]
    """Projects by verdict in that run, those that failed under ``failed``."""
    hours: Hours
    better: tuple[Move, ...]
    worse: tuple[Move, ...]
    new: tuple[str, ...]
    gone: tuple[str, ...]


class Report(msgspec.Struct, frozen=True, kw_only=True, tag_field="command", tag="fleet"):
    """What ``npuify fleet`` found in the projects of a list."""

    version: Literal[1]
    tool: Tool
    language: Annotated[str, Meta(description="Of all text for people: en or zh.")]
    run: int
    started: str
    ended: Annotated[str, Meta(description="Empty while the run is not whole.")]
    list: str
    levels: Annotated[dict[str, int], Meta(description="Projects by verdict, with failed and waiting.")]
    hours: Hours
    decisions: Annotated[tuple[Decision, ...], Meta(description="What unlocks most first.")]
    operators: Annotated[tuple[Used, ...], Meta(description="What most projects use first.")]
    trend: Trend | None
    projects: tuple[Project, ...]


def report_on(store: Store, run: int = 0, *, against: int = 0) -> Report:
    """The report on a run.

    Args:
        store: where it is kept.
        run: its number; 0 for the last one.
        against: the number of the run to compare with; 0 for the last whole one before.

    Raises:
        NpuifyError: there is no such run.
    """
    runs = store.runs()
    this = _run(runs, run) if run else next(iter(runs), None)
    if this is None:
        raise NpuifyError("holds no run yet", file=str(store.folder))
    before = (
        _run(runs, against) if against else next((one for one in runs if one.number < this.number and one.ended), None)
    )
    earlier = _projects(store, before, {}) if before else ()
    projects = _projects(store, this, {one.source: one.level for one in earlier})
    return Report(
        version=VERSION,
        tool=Tool("npuify", __version__),
        language=this.language,
        run=this.number,
        started=this.started,
        ended=this.ended,
        list=this.list,
        levels=_levels(projects),
        hours=_sum(projects),
        decisions=decisions(projects),
        operators=_operators(projects),
        trend=_trend(before, earlier, projects) if before else None,
        projects=projects,
    )


def _run(runs: Sequence[Run], number: int) -> Run:
    found = next((one for one in runs if one.number == number), None)
    if found is None:
        raise NpuifyError(
            phrase("there is no run {number}", number=number),
            advice=phrase("there are: {numbers}", numbers=", ".join(str(one.number) for one in reversed(runs))),
        )
    return found


# --- projects ---


def _projects(store: Store, run: Run, earlier: Mapping[str, _Level]) -> tuple[Project, ...]:
    rows = store.rows(
        "SELECT member.name AS name, project.key AS key, wanted, member.result AS number, result.* FROM member "
        "JOIN project ON project.id = member.project LEFT JOIN result ON result.id = member.result "
        "WHERE run = ? ORDER BY position",
        run.number,
    )
    parts = _Parts(store, run.number)
    return tuple(_project(row, parts, earlier) for row in rows)


class _Parts:
    """What belongs to the results of a run, asked for once for all of them."""

    def __init__(self, store: Store, run: int) -> None:
        self.obstacles = self._by_result(
            store, run, "obstacle", ("kind", "decision", "what", "why", "advice", "places")
        )
        self.operators = self._by_result(store, run, "operator", ("name", "places"))
        self.codes = self._by_result(store, run, "code", ("code", "count"))

    def _by_result(self, store: Store, run: int, table: str, columns: tuple[str, ...]) -> dict[int, list[Any]]:
        found: dict[int, list[Any]] = {}
        question = (
            f"SELECT part.result, {', '.join(f'part.{one}' for one in columns)} FROM {table} AS part "
            "JOIN member ON member.result = part.result WHERE run = ? ORDER BY part.rowid"
        )
        for row in store.rows(question, run):
            number, *rest = tuple(row)
            found.setdefault(number, []).append(rest)
        return found


def _project(row: sqlite3.Row, parts: _Parts, earlier: Mapping[str, _Level]) -> Project:
    number = row["number"]
    failed = row["fault"] is not None
    done = number is not None and not failed
    return Project(
        name=row["name"],
        source=row["key"],
        revision=row["revision"] or row["wanted"],
        state="done" if done else "failed" if failed else "waiting",
        level=row["level"] if done else "",
        title=row["title"] if done else "",
        summary=row["summary"] if done else "",
        hours=Hours(row["hours_low"], row["hours_likely"], row["hours_high"]) if done else Hours(0, 0, 0),
        torch_npu=row["torch_npu"] if done else "",
        files=row["files"] or 0,
        bytes=row["bytes"] or 0,
        migrated=row["migrated"] or 0,
        review=row["review"] or 0,
        manual=row["manual"] or 0,
        notes=row["notes"] or 0,
        errors=row["errors"] or 0,
        obstacles=tuple(Obstacle(*one) for one in parts.obstacles.get(number, ())),
        operators=tuple(Operator(*one) for one in parts.operators.get(number, ())),
        codes=dict(parts.codes.get(number, ())),
        fault=Fault(row["fault"], row["message"], row["advice"]) if failed else None,
        seconds=row["seconds"] or 0.0,
        made=row["made"] or "",
        report=row["page"] or "",
        earlier=earlier.get(row["key"], ""),
    )


def _levels(projects: Sequence[Project]) -> dict[str, int]:
    counts: Counter[str] = Counter(one.level or one.state for one in projects)
    return {name: counts[name] for name in (*LEVELS, FAILED, WAITING)}


def _sum(projects: Sequence[Project]) -> Hours:
    values = [one.hours for one in projects]
    return Hours(*(round(sum(getattr(one, name) for one in values), 1) for name in ("low", "likely", "high")))


def _operators(projects: Sequence[Project]) -> tuple[Used, ...]:
    used: dict[str, list[int]] = {}
    for project in projects:
        for one in project.operators:
            used.setdefault(one.name, []).append(one.places)
    found = [Used(name, len(places), sum(places)) for name, places in used.items()]
    return tuple(sorted(found, key=lambda one: (-one.projects, -one.places, one.name)))


# --- decisions ---


class _Waiting(NamedTuple):
    """The projects that wait for a decision."""

    alone: list[Project]
    others: list[Project]
    advice: Counter[str]


def decisions(projects: Sequence[Project]) -> tuple[Decision, ...]:
    """What there is to decide, what unlocks most first. A project is unlocked where nothing else blocks it."""
    waiting: dict[tuple[str, str], _Waiting] = {}
    for project in projects:
        keys = {(one.kind, one.decision): one for one in project.obstacles}
        for key, obstacle in keys.items():
            if not key[1]:
                # Code of its own that no other project has by that name.
                key = (key[0], obstacle.what)
            of = waiting.setdefault(key, _Waiting([], [], Counter()))
            (of.alone if len(keys) == 1 else of.others).append(project)
            of.advice[obstacle.advice] += 1
    found = [
        Decision(
            kind,  # type: ignore[arg-type]
            name,
            of.advice.most_common(1)[0][0],
            len(of.alone) + len(of.others),
            len(of.alone),
            _sum(of.alone),
            tuple(one.name for one in of.alone),
            tuple(one.name for one in of.others),
        )
        for (kind, name), of in waiting.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.unlocks, -one.blocks, one.kind, one.name)))


# --- what has changed ---


def _trend(before: Run, earlier: Sequence[Project], projects: Sequence[Project]) -> Trend:
    were = {one.source: one for one in earlier}
    now = {one.source: one for one in projects}
    both = [(were[key], one) for key, one in now.items() if key in were and were[key].level and one.level]
    moves = [Move(one.name, old.level, one.level) for old, one in both if old.level != one.level]
    return Trend(
        run=before.number,
        ended=before.ended,
        levels=_levels(earlier),
        hours=_sum(earlier),
        better=tuple(one for one in moves if LEVELS.index(one.now) < LEVELS.index(one.before)),
        worse=tuple(one for one in moves if LEVELS.index(one.now) > LEVELS.index(one.before)),
        new=tuple(one.name for key, one in now.items() if key not in were),
        gone=tuple(one.name for key, one in were.items() if key not in now),
    )


def level_title(level: str) -> str:
    """A verdict, or what else a project may be counted under, for people."""
    if level == FAILED:
        return phrase("Not scanned")
    return phrase("Waiting") if level == WAITING else phrase(TITLES[Level(level)])
