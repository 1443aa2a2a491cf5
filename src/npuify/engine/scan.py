"""A whole scan: prepare it, show each candidate to the rules in as many processes as asked, keep what was found."""

from __future__ import annotations

import contextlib
import gc
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from npuify.analysis.project import EVERY_FILE
from npuify.engine.alone import ENGINE
from npuify.engine.kept.cache import CachedPrograms, CachedResult, stamp
from npuify.engine.kept.last_result import ToKeep
from npuify.engine.ledger.reasons import DATA_FILE
from npuify.engine.native_calls import with_switches
from npuify.engine.prepare import prepare
from npuify.engine.processes import Processes
from npuify.engine.worker import FILES_PER_PROCESS
from npuify.language import speaking
from npuify.model import LedgerEntry, NpuifyError, State
from npuify.rules.packages.extensions.survey import RULE as NATIVE
from npuify.rules.packages.extensions.survey import findings_of
from npuify.rules.packages.third_party import RULE as THIRD_PARTY
from npuify.rules.packages.third_party import Package, third_party_findings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from npuify.analysis.project import ProjectIndex
    from npuify.engine.kept.cache import Stamp
    from npuify.engine.prepared import PreparedScan
    from npuify.engine.worker import Candidate, Worker
    from npuify.model import FileError, Finding, ScanResult
    from npuify.options import Options
    from npuify.project import ProjectFile

    Progress = Callable[[int, int], None]


class _Analysed(NamedTuple):
    """What the rules found in a file; what a process died of is not to be kept."""

    result: CachedResult
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
            stamp_now = _Stamps(prepared.project)
            cached = _cached(prepared, stamp_now)
            fresh = _analysed(prepared, set(cached), stamp_now, processes, progress)
        results = [cached.get(one.relative) or fresh[one.relative].result for one in prepared.candidates]
        findings = [*about_project, *(finding for result in results for finding in result.findings)]
        findings.sort(key=lambda finding: (finding.file, finding.start, finding.end, finding.code))
        errors = [*prepared.errors, *(error for result in results for error in result.errors)]
        errors.sort(key=_place_of_error)
        programs, failed = _programs(prepared, findings, errors)
        errors = sorted([*errors, *failed], key=_place_of_error)
        _save(prepared, cached, fresh, programs)
        prepared.project.forget()
    ledger = [entry for result in results for entry in result.ledger]
    ledger += (LedgerEntry(name, 1, 1, "", State.CLEARED, DATA_FILE.id) for name in prepared.data_files)
    result = prepared.scan_result(findings, errors, about_project, ledger, programs.programs)
    if not all(one.may_be_kept for one in fresh.values()):
        return result, ()
    # A program may read files that are no part of what was looked for.
    others = {name for one in results for name, _ in one.dependencies} - {EVERY_FILE}
    return result, [*prepared.rests_on, *(f"{prepared.root}/{name}" for name in sorted(others))]


def _with_switches(prepared: PreparedScan) -> PreparedScan:
    """With the calls of the project's own CUDA operators that do not run by default."""
    if not any(one.calls for one in prepared.survey.operators):
        return prepared
    worker = prepared.worker()
    operators = with_switches(prepared.survey.operators, worker.run)
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


class _Stamps:
    """The stamps of a project's files, asked for once. That of ``EVERY_FILE`` differs where one of a module does."""

    def __init__(self, project: ProjectIndex) -> None:
        self._project = project
        self._known: dict[str, Stamp | None] = {}

    def __reduce__(self) -> tuple[type[_Stamps], tuple[ProjectIndex]]:
        return _Stamps, (self._project,)

    def __call__(self, relative: str) -> Stamp | None:
        if relative not in self._known:
            self._known[relative] = self._of_all() if relative == EVERY_FILE else stamp(self._location(relative))
        return self._known[relative]

    def _location(self, relative: str) -> str:
        return f"{self._project.root}/{relative}"

    def _of_all(self) -> Stamp:
        modules = sorted(self._project.modules.values())
        text = " ".join(f"{relative} {stamp(self._location(relative))}" for relative in modules)
        return int.from_bytes(sha256(text.encode("utf-8", "surrogateescape")).digest()[:7], "big"), len(modules)


def _cached(prepared: PreparedScan, stamp_now: _Stamps) -> dict[str, CachedResult]:
    """What an earlier scan found in the candidates, where that still holds."""
    known, project = prepared.to_cache.files, prepared.to_cache.project
    return {
        one.relative: result
        for one in prepared.candidates
        if one.relative in known
        and (result := prepared.cache.result(known[one.relative], project, stamp_now)) is not None
    }


def _analysed(
    prepared: PreparedScan,
    known: set[str],
    stamp_now: _Stamps,
    processes: Processes,
    progress: Progress | None,
) -> dict[str, _Analysed]:
    """What the rules find in the other candidates."""
    candidates = [one for one in prepared.candidates if one.relative not in known]
    if not candidates:
        return {}
    worker = prepared.worker()
    analysed = processes.map(
        partial(_analyse, worker, stamp_now if prepared.cache.is_enabled else None),
        candidates,
        files_per_process=FILES_PER_PROCESS,
        on_crash=_crashed,
        progress=progress,
    )
    worker.close()
    return {one.relative: answer for one, answer in zip(candidates, analysed, strict=True)}


def _analyse(worker: Worker, stamp_now: _Stamps | None, candidate: Candidate) -> _Analysed:
    """What is found in a file; without ``stamp_now`` nothing is kept, and what it depends on does not matter."""
    findings, errors, files, ledger = worker.analyse_file(candidate)
    others: list[tuple[str, Stamp]] = []
    if stamp_now is not None:
        others += ((relative, stamp_now(relative) or (0, 0)) for relative in sorted(files - {candidate.relative}))
    return _Analysed(CachedResult(findings, errors, others, ledger))


def _crashed(error: FileError) -> _Analysed:
    return _Analysed(CachedResult([], [error], []), may_be_kept=False)


def _programs(
    prepared: PreparedScan, findings: Sequence[Finding], errors: Sequence[FileError]
) -> tuple[CachedPrograms, list[FileError]]:
    """The project's programs, as an earlier scan found them where that still holds, and what is not known of them."""
    key = ""
    if prepared.cache.is_enabled:
        stamps = [(relative, file.stamp) for relative, file in prepared.to_cache.files.items()]
        rests_on = (stamps, prepared.to_cache.project, prepared.survey, findings, errors)
        key = sha256(msgspec.msgpack.encode(rests_on)).hexdigest()
        known = prepared.cache.programs(key)
        if known is not None:
            return known, []
    programs, failed = prepared.programs_with(findings, errors)
    return CachedPrograms("" if failed else key, programs), failed


def _place_of_error(error: FileError) -> tuple[str, int]:
    return error.file, error.line


def _save(
    prepared: PreparedScan,
    cached: Mapping[str, CachedResult],
    fresh: Mapping[str, _Analysed],
    programs: CachedPrograms,
) -> None:
    """Leave for the next scan what this one knows."""
    if not prepared.cache.is_enabled:
        return
    results = {**cached, **{relative: one.result for relative, one in fresh.items() if one.may_be_kept}}
    files = {
        relative: msgspec.structs.replace(file, result=results.get(relative))
        for relative, file in prepared.to_cache.files.items()
    }
    prepared.cache.save(files, prepared.to_cache.project, prepared.to_cache.operators, programs)
