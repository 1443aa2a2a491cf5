"""Work out a whole migration, without writing anything."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

from npuify.model import FileError, MigrationResult, ScanResult
from npuify.rewrite.fixpoint import MigratedFile, migrate_file
from npuify.rules.scan import Worker, prepare, worker_count

if TYPE_CHECKING:
    from collections.abc import Callable

    from npuify.options import Options
    from npuify.rules.scan import Candidate, Work

    Progress = Callable[[int, int], None]


def plan(source: Path, options: Options, progress: Progress | None = None) -> tuple[MigrationResult, dict[str, bytes]]:
    """Work out a migration without writing anything.

    Returns:
        The result, its ``diff`` filled in, and the new content of each file that changes, by relative path.
    """
    work = prepare([source], options)
    done = _migrate_all(work, options, progress)
    contents = {item.relative: item.raw for item in done if item.raw is not None}
    errors = sorted((*work.errors, *(error for item in done for error in item.errors)), key=lambda error: error.file)
    scan = ScanResult(
        root=str(work.root),
        release=work.release,
        findings=tuple(finding for item in done for finding in item.found),
        errors=tuple(errors),
        files_seen=work.files_seen,
        files_parsed=len(work.candidates),
        bytes_seen=work.bytes_seen,
    )
    result = MigrationResult(
        scan=scan,
        changes=tuple(change for item in done for change in item.changes),
        left=tuple(finding for item in done for finding in item.left),
        changed_files=tuple(sorted(contents)),
        diff="".join(_diff(relative, work.root, contents[relative]) for relative in sorted(contents)),
    )
    return result, contents


def _migrate_all(work: Work, options: Options, progress: Progress | None) -> list[MigratedFile]:
    count = worker_count(options.jobs, len(work.candidates))
    if count <= 1:
        worker = Worker(work.release.torch_npu, work.selection, work.project)
        done = []
        for number, candidate in enumerate(work.candidates, start=1):
            done.append(_migrate_one(candidate, worker, unsafe=options.unsafe))
            if progress is not None:
                progress(number, len(work.candidates))
    else:
        done = _in_processes(work, options, count, progress)
    return sorted(done, key=lambda item: item.relative)


def _migrate_one(candidate: Candidate, worker: Worker, *, unsafe: bool) -> MigratedFile:
    try:
        raw = Path(candidate.location).read_bytes()
    except OSError as error:
        failure = FileError(candidate.relative, f"cannot be read: {error.strerror or error}")
        return MigratedFile(candidate.relative, None, [], [], [], [failure])
    return migrate_file(candidate.relative, raw, worker, unsafe=unsafe)


_worker: Worker | None = None
_unsafe = False


def _start(torch_npu: str, selection: object, index: object, unsafe: bool) -> None:
    global _worker, _unsafe
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _worker = Worker(torch_npu, selection, index)  # type: ignore[arg-type]
    _unsafe = unsafe


def _one(candidate: Candidate) -> MigratedFile:
    assert _worker is not None
    return _migrate_one(candidate, _worker, unsafe=_unsafe)


def _in_processes(work: Work, options: Options, count: int, progress: Progress | None) -> list[MigratedFile]:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    done: list[MigratedFile] = []
    executor = ProcessPoolExecutor(
        count,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start,
        initargs=(work.release.torch_npu, work.selection, work.project, options.unsafe),
    )
    try:
        chunk = max(1, min(16, len(work.candidates) // (count * 4)))
        for item in executor.map(_one, work.candidates, chunksize=chunk):
            done.append(item)
            if progress is not None:
                progress(len(done), len(work.candidates))
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        raise
    executor.shutdown()
    return done


def _diff(relative: str, root: Path, new: bytes) -> str:
    """A unified diff that ``git apply`` and ``patch`` take."""
    old = (root / relative).read_bytes()
    lines = difflib.unified_diff(_lines(old), _lines(new), f"a/{relative}", f"b/{relative}")
    text = ""
    for line in lines:
        text += line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
    return text


def _lines(raw: bytes) -> list[str]:
    """Lines as ``patch`` sees them: ended by a newline only, bytes that are not UTF-8 kept as surrogates."""
    pieces = raw.decode("utf-8", "surrogateescape").split("\n")
    return [piece + "\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])
