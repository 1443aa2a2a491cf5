"""What is known of a fleet: one SQLite file, to which each project's result is added as soon as it is there."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from npuify.language import phrase
from npuify.model import NpuifyError
from npuify.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from npuify.fleet.model import Findings, Outcome, Source

SCHEMA: Final = 1
"""Version of the tables: raised when one changes."""
FILE: Final = "fleet.sqlite"
PAGE: Final = "index.html"


class Run(NamedTuple):
    """One scan of a list."""

    number: int
    started: str
    ended: str
    """Empty while it is not whole."""
    npuify: str
    language: str
    list: str
    asked: dict[str, Any]
    """What was asked for, as the command line said it."""


class Store:
    """The store in a folder. One process at a time writes; others may read meanwhile.

    Args:
        folder: that of the fleet.
        write: take it for writing; it is made where there is none.

    Raises:
        NpuifyError: there is none, another process writes it, it is not a store, or a newer npuify made it.
    """

    def __init__(self, folder: Path, *, write: bool) -> None:
        self.folder = folder
        self._lock: sqlite3.Connection | None = None
        file = folder / FILE
        if not write and not file.is_file():
            raise NpuifyError(
                "holds no fleet", advice="make one first: npuify fleet scan LIST -o DIR", file=str(folder)
            )
        try:
            if write:
                _prepare(folder)
                self._lock = _locked(folder)
            self._connection = sqlite3.connect(file, timeout=30, isolation_level=None)
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.row_factory = sqlite3.Row
            self._check(write=write)
        except sqlite3.Error as error:
            self._unlock()
            raise NpuifyError(phrase("cannot be used: {error}", error=error), file=str(file)) from error
        except BaseException:
            self._unlock()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.close()
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _check(self, *, write: bool) -> None:
        tables = self.rows("SELECT name FROM sqlite_master WHERE name = 'meta'")
        if not tables and write:
            text = (Path(__file__).parent / "tables.sql").read_text(encoding="utf-8")
            with self._transaction():
                for statement in filter(str.strip, re.sub(r"--.*", "", text).split(";")):
                    self._connection.execute(statement)
                self._connection.execute("INSERT INTO meta VALUES ('schema', ?)", (str(SCHEMA),))
            return
        found = self.rows("SELECT value FROM meta WHERE key = 'schema'") if tables else []
        if not found:
            raise NpuifyError("is not a fleet's store", file=str(self.folder / FILE))
        if int(found[0]["value"]) != SCHEMA:
            raise NpuifyError(
                phrase("has tables of version {version}, which this npuify does not know", version=found[0]["value"]),
                advice="use the npuify that made it, or scan into another folder",
                file=str(self.folder / FILE),
            )

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def rows(self, question: str, *values: object) -> list[sqlite3.Row]:
        """The answer to a question in SQL."""
        return self._connection.execute(question, values).fetchall()

    # --- runs ---

    def runs(self) -> list[Run]:
        """All runs, the newest first."""
        return [
            Run(
                row["id"],
                row["started"],
                row["ended"] or "",
                row["npuify"],
                row["language"],
                row["list"],
                json.loads(row["asked"]),
            )
            for row in self.rows("SELECT * FROM run ORDER BY id DESC")
        ]

    def begin(self, sources: Sequence[Source], list_: str, asked: dict[str, Any], language: str) -> int:
        """Begin a run of these projects, or go on with the last one, where that asks the same and is not whole.

        Returns:
            The number of the run.
        """
        last = next(iter(self.runs()), None)
        if last is not None and not last.ended and last.asked == asked and last.language == language:
            members = self.rows(
                "SELECT key, name, wanted FROM member JOIN project ON project.id = project WHERE run = ? "
                "ORDER BY position",
                last.number,
            )
            if [tuple(row) for row in members] == [(one.key, one.name, one.revision) for one in sources]:
                return last.number
        with self._transaction():
            run = self._connection.execute(
                "INSERT INTO run (started, npuify, language, list, asked) VALUES (?, ?, ?, ?, ?)",
                (_now(), __version__, language, list_, json.dumps(asked, sort_keys=True)),
            ).lastrowid
            assert run is not None
            for position, one in enumerate(sources):
                project = self.project(one)
                self._connection.execute(
                    "INSERT INTO member VALUES (?, ?, ?, ?, ?, NULL)",
                    (run, position, project, one.name, one.revision),
                )
        return run

    def end(self, run: int) -> None:
        """Note that all projects of a run have a result."""
        self._connection.execute("UPDATE run SET ended = ? WHERE id = ?", (_now(), run))

    def project(self, source: Source) -> int:
        """The number of a project, which it gets when it is first named."""
        self._connection.execute(
            "INSERT OR IGNORE INTO project (key, place, is_git) VALUES (?, ?, ?)",
            (source.key, source.place, source.is_git),
        )
        return int(self.rows("SELECT id FROM project WHERE key = ?", source.key)[0]["id"])

    # --- results ---

    def waiting(self, run: int) -> set[str]:
        """The keys of the projects that have no result in a run."""
        rows = self.rows(
            "SELECT key FROM member JOIN project ON project.id = project WHERE run = ? AND result IS NULL", run
        )
        return {row["key"] for row in rows}

    def known(self) -> dict[str, str]:
        """By key the fingerprint of each project's last result; those whose own report is gone are left out."""
        rows = self.rows(
            "SELECT key, fingerprint, page FROM result JOIN project ON project.id = project "
            "WHERE result.id IN (SELECT max(id) FROM result WHERE fault IS NULL GROUP BY project)"
        )
        return {row["key"]: row["fingerprint"] for row in rows if (self.folder / row["page"]).is_file()}

    def add(self, run: int, source: Source, outcome: Outcome, page: str) -> bool:
        """Keep what became of a project in a run, whole or not at all.

        Args:
            page: the project's own report, relative to the folder.

        Returns:
            Whether it was kept: what has a result already keeps that.
        """
        with self._transaction():
            return self._add_to_run(run, source, outcome, page)

    def add_unchanged(self, run: int, found: Iterable[tuple[Source, Outcome]]) -> None:
        """Keep of projects that they have not changed."""
        with self._transaction():
            for source, outcome in found:
                self._add_to_run(run, source, outcome, "")

    def _add_to_run(self, run: int, source: Source, outcome: Outcome, page: str) -> bool:
        project = self.project(source)
        open_ = self.rows("SELECT 1 FROM member WHERE run = ? AND project = ? AND result IS NULL", run, project)
        if not open_:
            return False
        if outcome.unchanged:
            question = "SELECT max(id) AS id FROM result WHERE project = ? AND fault IS NULL"
            result = self.rows(question, project)[0]["id"]
        else:
            result = self._add(project, outcome, page)
        self._connection.execute("UPDATE member SET result = ? WHERE run = ? AND project = ?", (result, run, project))
        return True

    def _add(self, project: int, outcome: Outcome, page: str) -> int:
        row: dict[str, Any] = {
            "project": project,
            "made": _now(),
            "seconds": outcome.seconds,
            "fingerprint": outcome.fingerprint,
            "revision": outcome.revision,
            "page": page,
        }
        if outcome.fault is not None:
            fault = outcome.fault
            row |= {"fault": fault.kind, "message": fault.message, "advice": fault.advice}
        findings = outcome.findings
        if findings is not None:
            row |= _figures(findings)
        result = self._insert("result", row)
        if findings is not None:
            for obstacle in findings.obstacles:
                places = {name: getattr(obstacle, name) for name in obstacle.__struct_fields__}
                self._insert("obstacle", {"result": result, **places})
            for operator in findings.operators:
                self._insert("operator", {"result": result, "name": operator.name, "places": operator.places})
            for code, count in findings.codes.items():
                self._insert("code", {"result": result, "code": code, "count": count})
        return result

    def _insert(self, table: str, row: dict[str, Any], how: str = "INSERT") -> int:
        names, marks = ", ".join(row), ", ".join("?" * len(row))
        values = [_stored(value) for value in row.values()]
        done = self._connection.execute(f"{how} INTO {table} ({names}) VALUES ({marks})", values)
        return int(done.lastrowid or 0)

    # --- migrations ---

    def migrations(self, way: str) -> dict[str, str]:
        """By key the fingerprint of each project that was migrated in a way, and whose result is still there."""
        rows = self.rows(
            "SELECT key, fingerprint, migration.place AS place FROM migration JOIN project ON project.id = project "
            "WHERE way = ? AND fault IS NULL",
            way,
        )
        return {row["key"]: row["fingerprint"] for row in rows if not row["place"] or self._is_there(row["place"])}

    def _is_there(self, place: str) -> bool:
        return (self.folder / place).exists()

    def add_migration(self, source: Source, outcome: Outcome, way: str, place: str) -> None:
        """Keep what became of a project's migration, in place of what was."""
        row: dict[str, Any] = {
            "made": _now(),
            "way": way,
            "fingerprint": outcome.fingerprint,
            "revision": outcome.revision,
            "place": place,
        }
        if outcome.fault is not None:
            fault = outcome.fault
            row |= {"fault": fault.kind, "message": fault.message, "advice": fault.advice}
        if outcome.migrated is not None:
            done = outcome.migrated
            row |= {"changed_files": done.changed_files, "changes": done.changes, "left": done.left}
            row["commit_made"] = done.commit
        with self._transaction():
            self._insert("migration", {"project": self.project(source), **row}, "INSERT OR REPLACE")


def _figures(findings: Findings) -> dict[str, Any]:
    low, likely, high = findings.hours
    same = ("level", "title", "summary", "files", "torch_npu", "migrated", "review", "manual", "notes", "errors")
    return {
        **{name: getattr(findings, name) for name in same},
        "bytes": findings.size,
        "hours_low": low,
        "hours_likely": likely,
        "hours_high": high,
    }


def _stored(value: Any) -> Any:
    """``value`` for SQLite, which takes no surrogates."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value


def page_of(source: Source) -> str:
    """Where a project's own report lies below the folder: a name that any file system takes, and no other has."""
    return f"projects/{file_stem(source)}.html"


def file_stem(source: Source) -> str:
    """A name for files about a project."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", source.name).strip("-.")[-60:] or "project"
    return f"{plain}-{sha256(source.key.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _prepare(folder: Path) -> None:
    try:
        if folder.is_dir() and not (folder / FILE).exists() and any(folder.iterdir()):
            raise NpuifyError(
                "is not empty, and holds no fleet", advice="name another folder with -o", file=str(folder)
            )
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NpuifyError(error.strerror or str(error), file=str(folder)) from error


def _locked(folder: Path) -> sqlite3.Connection:
    """Held until it is closed, or the process is gone: SQLite's own lock, which every system has."""
    lock = sqlite3.connect(os.fspath(folder / "lock"), timeout=0, isolation_level=None)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        if "locked" not in str(error):
            raise
        raise NpuifyError(
            "another npuify is at work in this folder",
            advice="wait until it has ended; npuify fleet status DIR tells how far it is",
            file=str(folder),
        ) from None
    return lock
