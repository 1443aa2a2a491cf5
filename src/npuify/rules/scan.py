"""A whole scan: find the files, choose the release, show each file to the rules, in as many processes as asked."""

from __future__ import annotations

import gc
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from npuify.model import FileError, Finding, NpuifyError, Release, ScanResult
from npuify.project import common_root, find_files, torch_requirement
from npuify.rules.analyse import RuleSet, analyse
from npuify.rules.base import Selection
from npuify.rules.project_index import ProjectIndex, may_define_cuda, module_name
from npuify.rules.unparsed import RULE as UNPARSED
from npuify.rules.unparsed import search_tokens
from npuify.source.python import PythonSource
from npuify.source.text import UnreadableText

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from npuify.knowledge import ReleaseTable
    from npuify.options import Options

    Progress = Callable[[int, int], None]

_WORTH_A_PROCESS = 150
"""Files to parse for each further process: starting one costs about as much as parsing this many."""


class Candidate(NamedTuple):
    """A Python file that may hold something of interest."""

    relative: str
    location: str


class Work(NamedTuple):
    """What a scan has to do, and what it already knows."""

    root: Path
    release: Release
    selection: Selection
    project: ProjectIndex
    candidates: list[Candidate]
    errors: list[FileError]
    files_seen: int
    bytes_seen: int


def scan(paths: Sequence[Path], options: Options, *, progress: Progress | None = None) -> ScanResult:
    """Everything that stands in the way of running ``paths`` on an NPU.

    Args:
        paths: files and folders; the project's root is the folder that holds them all.
        options: see :class:`npuify.options.Options`.
        progress: called with the number of files done and of files to do.

    Raises:
        NpuifyError: a path is not there, or an option names what does not exist.
    """
    # Nothing here makes cycles; the collector would only walk the growing list of findings.
    collecting = gc.isenabled()
    gc.disable()
    try:
        work = prepare(paths, options)
        results = run(work, options.jobs, progress)
    finally:
        if collecting:
            gc.enable()
    findings: list[Finding] = []
    errors = list(work.errors)
    for found, failed in results:
        findings += found
        errors += failed
    findings.sort(key=lambda finding: (finding.file, finding.start, finding.end, finding.code))
    return ScanResult(
        root=str(work.root),
        release=work.release,
        findings=tuple(findings),
        errors=tuple(sorted(errors, key=lambda error: (error.file, error.line))),
        files_seen=work.files_seen,
        files_parsed=len(work.candidates),
        bytes_seen=work.bytes_seen,
    )


def checked_selection(options: Options) -> Selection:
    """The selection that the options ask for.

    Raises:
        NpuifyError: a code or name in it is unknown.
    """
    selection = Selection(options.select, options.ignore)
    unknown = selection.unknown()
    if unknown:
        raise NpuifyError(f"no rule is called {unknown[0]!r}", advice="`npuify rules` lists them all")
    return selection


def prepare(paths: Sequence[Path], options: Options) -> Work:
    """Find and read the files of ``paths``; see :func:`scan`."""
    from npuify import knowledge

    if options.style != "npu":
        raise NpuifyError(f"the style {options.style!r} does not exist", advice="only `npu` exists so far")
    for path in paths:
        if not path.exists():
            raise NpuifyError("there is no such file or folder", file=str(path))
    selection = checked_selection(options)
    errors: list[FileError] = []
    root = common_root(paths)
    files = find_files(paths, exclude=options.exclude, kinds=("python",), errors=errors)
    requirement = torch_requirement(root) if options.torch_npu is None else None
    release = knowledge.choose_release(options.torch_npu, requirement.specifier if requirement else None)
    rules = RuleSet(selection)
    candidates: list[Candidate] = []
    own_cuda: list[str] = []
    total = 0
    for file in files:
        try:
            with open(file.location, "rb") as stream:  # noqa: PTH123 - the scan's inner loop
                raw = stream.read()
        except OSError as error:
            errors.append(FileError(file.relative, f"cannot be read: {error.strerror or error}"))
            continue
        total += len(raw)
        lower = raw.lower()
        if rules.may_concern(lower):
            if b"\0" in raw[:1024] and not raw.startswith((b"\xff\xfe", b"\xfe\xff")):
                errors.append(FileError(file.relative, "is not text; it was not looked at"))
                continue
            candidates.append(Candidate(file.relative, file.location))
            if may_define_cuda(raw, lower):
                own_cuda.append(file.relative)
    index = ProjectIndex(root, [file.relative for file in files], own_cuda)
    return Work(root, release, selection, index, candidates, errors, len(files), total)


def run(work: Work, jobs: int, progress: Progress | None) -> list[tuple[list[Finding], list[FileError]]]:
    """Analyse all candidates, in this process or in several."""
    count = worker_count(jobs, len(work.candidates))
    if count <= 1:
        worker = Worker(work.release.torch_npu, work.selection, work.project)
        results = []
        for done, candidate in enumerate(work.candidates, start=1):
            results.append(worker.findings(candidate))
            if progress is not None:
                progress(done, len(work.candidates))
        return results
    return _run_in_processes(work, count, progress)


def worker_count(jobs: int, files: int) -> int:
    """Processes to use: as many as asked, or as the machine has cores and the work is worth."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(jobs or cores, max(1, files // _WORTH_A_PROCESS))


def _run_in_processes(work: Work, count: int, progress: Progress | None) -> list[tuple[list[Finding], list[FileError]]]:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    context = multiprocessing.get_context("spawn")
    results: list[tuple[list[Finding], list[FileError]]] = []
    executor = ProcessPoolExecutor(
        count,
        mp_context=context,
        initializer=_start_worker,
        initargs=(work.release.torch_npu, work.selection, work.project),
    )
    try:
        chunk = max(1, min(32, len(work.candidates) // (count * 4)))
        for done, result in enumerate(executor.map(_findings_of, work.candidates, chunksize=chunk), start=1):
            results.append(result)
            if progress is not None:
                progress(done, len(work.candidates))
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        raise
    executor.shutdown()
    return results


_worker: Any = None


def _start_worker(torch_npu: str, selection: Selection, index: ProjectIndex) -> None:
    global _worker
    import signal

    # The parent decides what Ctrl-C means; a worker that dies of it would print a traceback of its own.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _worker = Worker(torch_npu, selection, index)


def _findings_of(candidate: Candidate) -> tuple[list[Finding], list[FileError]]:
    result: tuple[list[Finding], list[FileError]] = _worker.findings(candidate)
    return result


class Worker:
    """Analyses files one after the other, with the tables loaded once."""

    def __init__(self, torch_npu: str, selection: Selection, index: ProjectIndex) -> None:
        from npuify import knowledge

        self.selection = selection
        self.rules = RuleSet(selection)
        self.release: ReleaseTable = knowledge.load(torch_npu)
        self.index = index

    def findings(self, candidate: Candidate) -> tuple[list[Finding], list[FileError]]:
        """The findings of one file; a failure of any kind becomes an error of that file."""
        try:
            raw = Path(candidate.location).read_bytes()
        except OSError as error:
            return [], [FileError(candidate.relative, f"cannot be read: {error.strerror or error}")]
        return self.findings_of_bytes(candidate.relative, raw, whole=False)

    def findings_of_bytes(
        self, relative: str, raw: bytes, *, needs_torch_npu: bool = False, whole: bool = True
    ) -> tuple[list[Finding], list[FileError]]:
        """As :meth:`findings`, of a file's content; ``whole`` parses also what can hold nothing of interest."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                words = self.rules.words_in(raw)
                parsed_for = None if whole else self.rules.shortest(words)
                source = PythonSource(relative, module_name(relative), raw, parsed_for)
                found = analyse(
                    source, self.rules, self.release, self.index, needs_torch_npu=needs_torch_npu, words=words
                )
                return found, []
        except UnreadableText as error:
            return [], [FileError(relative, error.message, error.line, "it was copied as it is")]
        except SyntaxError as error:
            found, failed = search_tokens(relative, raw, error)
            return (found if self.selection.has(UNPARSED) else []), failed
        except Exception as error:  # one file's failure must not end the run
            return [], [FileError(relative, f"npuify failed on this file: {type(error).__name__}: {error}")]
