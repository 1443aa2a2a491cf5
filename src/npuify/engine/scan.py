"""A whole scan: prepare it, show each candidate to the rules in as many processes as asked, keep what was found."""

from __future__ import annotations

import contextlib
import gc
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from npuify.analysis.files import SEARCHED
from npuify.analysis.project import EVERY_FILE, IMPORTS
from npuify.engine.alone import ENGINE
from npuify.engine.kept.cache import CacheContents, CachedPrograms, CachedResult
from npuify.engine.kept.last_result import ToKeep
from npuify.engine.ledger.reasons import DATA_FILE
from npuify.engine.native_calls import with_switches
from npuify.engine.prepare import prepare
from npuify.engine.processes import Processes
from npuify.engine.worker import FILES_PER_PROCESS
from npuify.language import speaking
from npuify.model import LedgerEntry, NpuifyError, State
from npuify.rules.decisions import told_together
from npuify.rules.packages.extensions.survey import RULE as NATIVE
from npuify.rules.packages.extensions.survey import findings_of
from npuify.rules.packages.third_party import RULE as THIRD_PARTY
from npuify.rules.packages.third_party import Package, third_party_findings
from npuify.rules.run import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from npuify.engine.prepared import PreparedScan
    from npuify.engine.worker import Candidate, Worker
    from npuify.model import FileError, Finding, ScanResult
    from npuify.options import Options
    from npuify.project import ProjectFile

    Progress = Callable[[int, int], None]


class _Analysed(NamedTuple):
    """What the rules found in a file; what a process died of is not to be kept."""

    result: Result
    searches: Mapping[str, bytes] = {}
    """What was sought meanwhile in the texts of the project's files, and found in which."""
    may_be_kept: bool = True


def scan(
    paths: Sequence[Path],
    options: Options,
    *,
    progress: Progress | None = None,
    preparing: Progress | None = None,
) -> ScanResult:
    """Everything that stands in the way of running ``paths`` on an NPU.

    Args:
        paths: files and folders; the project's root is the folder that holds them all.
        options: see :class:`npuify.options.Options`.
        progress: called with the number of files done and of files to do.
        preparing: the same while files are read, before any is analysed; 0 of 0 while they are sought.

    Raises:
        NpuifyError: a path is not there, or an option names what does not exist.
    """
    with speaking(options.language):
        to_keep = ToKeep(paths, options)
        result, rests_on = _scan(paths, options, progress, preparing)
        to_keep.keep(result, rests_on)
        return result


def _scan(
    paths: Sequence[Path], options: Options, progress: Progress | None, preparing: Progress | None
) -> tuple[ScanResult, Sequence[str]]:
    """The result, and the locations that it rests on; none where it is not to be kept."""
    # Nothing here makes cycles; the collector would only walk the growing list of findings.
    with ENGINE, _without_collector():
        with Processes(options.jobs) as processes:
            prepared = _with_switches(prepare(paths, options, processes, preparing))
            about_project = project_findings(prepared, options)
            cached = _cached(prepared)
            fresh = _analysed(prepared, set(cached), processes, progress)
        results = [cached.get(one.relative) or fresh[one.relative].result for one in prepared.candidates]
        findings = [*about_project, *(finding for result in results for finding in result.findings)]
        findings.sort(key=lambda finding: (finding.file, finding.start, finding.end, finding.code))
        errors = [*prepared.errors, *(error for result in results for error in result.errors)]
        errors.sort(key=_place_of_error)
        programs, failed = _programs(prepared, findings, errors)
        errors = sorted([*errors, *failed], key=_place_of_error)
        others = _save(prepared, cached, fresh, programs)
        prepared.project.forget()
    findings = told_together(findings)
    ledger = [entry for result in results for entry in result.ledger]
    ledger += (LedgerEntry(name, 1, 1, "", State.CLEARED, DATA_FILE.id) for name in prepared.data_files)
    result = prepared.scan_result(findings, errors, about_project, ledger, programs.programs)
    if not all(one.may_be_kept for one in fresh.values()):
        return result, ()
    # A program may read files that are no part of what was looked for.
    return result, [*prepared.rests_on, *(f"{prepared.root}/{name}" for name in sorted(others))]


def _with_switches(prepared: PreparedScan) -> PreparedScan:
    """With the calls of the project's own CUDA operators that do not run by default."""
    if not any(one.calls for one in prepared.survey.operators):
        return prepared
    worker = prepared.worker()
    operators = with_switches(prepared.survey.operators, worker.run, prepared.standing.once)
    worker.close()
    return prepared._replace(survey=msgspec.structs.replace(prepared.survey, operators=operators))


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if not gc.get_freeze_count():
                # Freed at once, the collector would first walk all that is new, and find nothing; this makes it old.
                gc.freeze()
                gc.unfreeze()
            gc.enable()


# --- about the project as a whole ---


def project_findings(prepared: PreparedScan, options: Options) -> tuple[Finding, ...]:
    """What is found about the project as a whole, and no single file shows."""
    has = prepared.selection.has
    return (
        *(findings_of(prepared.survey.operators) if has(NATIVE) else ()),
        *(_third_party(prepared.files, options) if options.third_party and has(THIRD_PARTY) else ()),
    )


def _third_party(files: Sequence[ProjectFile], options: Options) -> list[Finding]:
    """What the project calls of the packages whose source is given, and cannot run on an NPU."""
    packages = []
    for place in options.third_party:
        folder = Path(place)
        if not folder.is_dir():
            raise NpuifyError("is no folder with a package's source", file=place)
        own = msgspec.structs.replace(options, select=(), ignore=(), third_party=(), rules=())
        packages.append(Package(folder, scan([folder], own)))
    return third_party_findings([file for file in files if file.kind == "python"], packages)


# --- file by file ---


def _cached(prepared: PreparedScan) -> dict[str, CachedResult]:
    """What an earlier scan found in the candidates, where that still holds."""
    return {
        one.relative: result
        for one in prepared.candidates
        if (result := prepared.standing.result(one.relative)) is not None
    }


def _analysed(
    prepared: PreparedScan,
    known: set[str],
    processes: Processes,
    progress: Progress | None,
) -> dict[str, _Analysed]:
    """What the rules find in the other candidates."""
    candidates = [one for one in prepared.candidates if one.relative not in known]
    if not candidates:
        return {}
    worker = prepared.worker()
    analysed = processes.map(
        partial(_analyse, worker),
        candidates,
        files_per_process=FILES_PER_PROCESS,
        on_crash=_crashed,
        progress=progress,
    )
    worker.close()
    return {one.relative: answer for one, answer in zip(candidates, analysed, strict=True)}


def _analyse(worker: Worker, candidate: Candidate) -> _Analysed:
    """What is found in a file."""
    result = worker.analyse_file(candidate)
    searches = worker.run.project.searches()
    if searches is None and SEARCHED in result.dependencies:
        result = result._replace(dependencies=result.dependencies | {EVERY_FILE})
    others = result.dependencies - {candidate.relative}
    return _Analysed(result._replace(dependencies=others), searches or {})


def _crashed(error: FileError) -> _Analysed:
    return _Analysed(Result([], [error]), may_be_kept=False)


def _programs(
    prepared: PreparedScan, findings: Sequence[Finding], errors: Sequence[FileError]
) -> tuple[CachedPrograms, list[FileError]]:
    """The project's programs, as an earlier scan found them where that still holds, and what is not known of them."""
    key = ""
    if prepared.cache.is_enabled:
        contents = [(relative, file.content) for relative, file in prepared.to_cache.files.items()]
        rests_on = (contents, prepared.to_cache.project, prepared.survey, findings, errors)
        key = sha256(msgspec.msgpack.encode(rests_on)).hexdigest()
        if key == prepared.cache.last.programs.key:
            prepared.standing.keep_answers()
            return prepared.cache.last.programs, []
    programs, failed = prepared.programs_with(findings, errors)
    return CachedPrograms("" if failed else key, programs), failed


def _place_of_error(error: FileError) -> tuple[str, int]:
    return error.file, error.line


def _save(
    prepared: PreparedScan,
    cached: Mapping[str, CachedResult],
    fresh: Mapping[str, _Analysed],
    programs: CachedPrograms,
) -> frozenset[str]:
    """Leave for the next scan what this one knows.

    Returns:
        the files that results depend on.
    """
    standing, cache = prepared.standing, prepared.cache
    kept = {*(name for one in cached.values() for name, _ in one.dependencies)}
    others = frozenset(kept.union(*(one.result.dependencies for one in fresh.values())))
    if not cache.is_enabled:
        return others
    states = dict(standing.states(others))
    results = dict(cached)
    for relative, one in fresh.items():
        if one.may_be_kept:
            found, errors, dependencies, ledger = one.result
            known = [(name, states[name]) for name in sorted(dependencies)]
            results[relative] = CachedResult(found, errors, known, ledger)
    searches = dict(standing.searches)
    for analysed in fresh.values():
        searches.update(analysed.searches)
    files = {
        relative: msgspec.structs.replace(file, result=results.get(relative))
        for relative, file in prepared.to_cache.files.items()
    }
    searches.update(prepared.project.searches() or {})
    operators = prepared.to_cache.operators
    cache.save(
        CacheContents(
            project=prepared.to_cache.project,
            operators=cache.last.operators if operators is None else operators,
            files=files,
            searches=searches,
            answers=standing.answers,
            programs=programs,
        )
    )
    return others - {EVERY_FILE, SEARCHED, IMPORTS}
