"""Work out a whole migration, without writing anything."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from npuify.engine.prepare import prepare
from npuify.engine.processes import Processes
from npuify.engine.scan import project_findings
from npuify.engine.traced import left_over
from npuify.engine.worker import FILES_PER_PROCESS, Worker
from npuify.model import FileError, MigrationResult
from npuify.project.traced import read_trace
from npuify.rewrite.diff import file_diff
from npuify.rewrite.fixpoint import MigratedFile, migrate_file
from npuify.rewrite.launchers import judged_anew
from npuify.rewrite.whole_files import NewContents, device_helpers, linux_line_ends, stand_ins
from npuify.rules.environment.line_ends import RULE as LINE_ENDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from npuify.engine.prepare import PreparedScan
    from npuify.engine.worker import Candidate
    from npuify.model import Change, Finding
    from npuify.options import Options
    from npuify.project.traced import Trace, TracedPlace

    Progress = Callable[[int, int], None]


def plan(source: Path, options: Options, progress: Progress | None = None) -> tuple[MigrationResult, dict[str, bytes]]:
    """Work out a migration without writing anything.

    Returns:
        The result, its ``diff`` filled in, and the new content of each file that changes, by relative path.
    """
    with Processes(options.jobs) as processes:
        prepared = prepare([source], options, processes)
        about_project = project_findings(prepared, options)
        trace = _trace(prepared, options)
        worker = prepared.worker()
        migrated = _migrated(prepared, worker, trace, options, processes, progress)
    rewritten = {file.relative: file.raw for file in migrated if file.raw is not None}
    migrated = [judged_anew(file, worker, rewritten) for file in migrated]
    others = _whole_files(prepared, rewritten, options)
    contents = {**rewritten, **others.contents}
    changes = [*(change for file in migrated for change in file.changes), *others.changes]
    found = [finding for file in migrated for finding in file.found]
    left = [finding for file in migrated for finding in file.left]
    errors = _errors(prepared, migrated, trace)
    ledger = [entry for file in migrated for entry in file.ledger]
    result = MigrationResult(
        scan=prepared.scan_result([*about_project, *found], errors, about_project, ledger),
        changes=tuple(changes),
        left=(*about_project, *_untreated(trace, migrated), *_without_line_ends(left, options)),
        changed_files=tuple(sorted(contents)),
        diff="".join(file_diff(prepared.root, relative, contents[relative]) for relative in sorted(contents)),
    )
    return result, contents


# --- file by file ---


def _trace(prepared: PreparedScan, options: Options) -> Trace | None:
    if not options.from_trace:
        return None
    return read_trace(Path(options.from_trace), prepared.root, [file.relative for file in prepared.files])


def _migrated(
    prepared: PreparedScan,
    worker: Worker,
    trace: Trace | None,
    options: Options,
    processes: Processes,
    progress: Progress | None,
) -> list[MigratedFile]:
    """What becomes of each candidate, in the order of their paths."""
    migrated = processes.map(
        partial(_migrate_one, worker, unsafe=options.unsafe, traced=trace.places if trace else {}),
        prepared.candidates,
        files_per_process=FILES_PER_PROCESS,
        on_crash=_unchanged,
        progress=progress,
    )
    return sorted(migrated, key=lambda file: file.relative)


def _migrate_one(
    worker: Worker, candidate: Candidate, *, unsafe: bool, traced: Mapping[str, Sequence[TracedPlace]]
) -> MigratedFile:
    if not candidate.concerns:
        found, errors, _, ledger = worker.analyse_file(candidate)
        return MigratedFile(candidate.relative, None, found, found, [], errors, ledger)
    try:
        raw = Path(candidate.location).read_bytes()
    except OSError as error:
        return _unchanged(FileError(candidate.relative, f"cannot be read: {error.strerror or error}"))
    places = traced.get(candidate.relative, ())
    return migrate_file(candidate.relative, raw, worker, unsafe=unsafe, kind=candidate.kind, traced=places)


def _unchanged(error: FileError) -> MigratedFile:
    return MigratedFile(error.file, None, [], [], [], [error])


# --- the project ---


def _whole_files(prepared: PreparedScan, rewritten: Mapping[str, bytes], options: Options) -> NewContents:
    """The files that are new, and those whose line ends change, with the changes that say so."""
    added = stand_ins(prepared, rewritten)
    helpers = device_helpers(prepared, {**rewritten, **added.contents})
    contents = {**added.contents, **helpers.contents}
    ends = NewContents({}, [])
    if options.normalize_newlines:
        ends = linux_line_ends(prepared.files, {**rewritten, **contents})
    return NewContents({**contents, **ends.contents}, [*ends.changes, *added.changes, *helpers.changes])


def _errors(prepared: PreparedScan, migrated: Iterable[MigratedFile], trace: Trace | None) -> list[FileError]:
    of_files = (error for file in migrated for error in file.errors)
    return sorted((*prepared.errors, *of_files, *(trace.errors if trace else ())), key=lambda error: error.file)


def _untreated(trace: Trace | None, migrated: Sequence[MigratedFile]) -> tuple[Finding, ...]:
    """The traced places that no rule treats."""
    if trace is None:
        return ()
    changes: list[Change] = [change for file in migrated for change in file.changes]
    return tuple(left_over(trace, changes, [finding for file in migrated for finding in file.found]))


def _without_line_ends(left: Iterable[Finding], options: Options) -> list[Finding]:
    return [one for one in left if not options.normalize_newlines or one.code != LINE_ENDS.code]
