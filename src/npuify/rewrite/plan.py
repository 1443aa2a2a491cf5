"""Work out a whole migration, without writing anything."""

from __future__ import annotations

import os
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from npuify.engine.prepare import prepare
from npuify.engine.processes import Processes
from npuify.engine.scan import project_findings
from npuify.engine.traced import left_over
from npuify.engine.worker import FILES_PER_PROCESS, Worker
from npuify.language import phrase
from npuify.model import Change, FileError, MigrationResult, NpuifyError, Position
from npuify.project.traced import read_trace
from npuify.rewrite.diff import file_diff
from npuify.rewrite.fixpoint import Begun, MigratedFile, begin_file, finish_file, migrate_file
from npuify.rewrite.launchers import judged_anew
from npuify.rewrite.whole_files import NewContents, device_helpers, linux_line_ends, replaced_kernels, stand_ins
from npuify.rules.decisions import told_together
from npuify.rules.environment.line_ends import RULE as LINE_ENDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from npuify.engine.prepared import PreparedScan
    from npuify.engine.worker import Candidate
    from npuify.model import Finding, ScanResult
    from npuify.options import Options
    from npuify.project.traced import Trace, TracedPlace
    from npuify.rewrite.fixpoint import Decides

    Progress = Callable[[int, int], None]

BY_HAND: Final = "BY-HAND"
"""Where a change says which code made it: a person did."""


def plan(
    source: Path, options: Options, progress: Progress | None = None, preparing: Progress | None = None
) -> tuple[MigrationResult, dict[str, bytes]]:
    """Work out a migration without writing anything.

    Returns:
        The result, its ``diff`` filled in, and the new content of each file that changes, by relative path.
    """
    return Draft(source, options, progress, preparing).result()


class Draft:
    """A migration that is worked out, and can be changed before it is written.

    Args:
        source: what to migrate.
        options: see :class:`npuify.options.Options`.
        progress: called with the number of files done and of files to do.
        preparing: the same while files are read, before any is migrated.

    Attributes:
        about_project: the findings that no single file shows.
    """

    def __init__(
        self, source: Path, options: Options, progress: Progress | None = None, preparing: Progress | None = None
    ) -> None:
        self._options = options
        with Processes(options.jobs) as processes:
            self._prepared = prepared = prepare([source], options, processes, preparing)
            self.about_project = project_findings(prepared, options)
            self._trace = _trace(prepared, options)
            self._worker = prepared.worker()
            begun = _begun(prepared, self._worker, self._trace, options, processes, progress)
            edited = {one.relative: one.edited for one in begun if isinstance(one, Begun)}
            self._later = self._worker.seeing(edited)
            migrated = _finished(begun, self._later, processes)
        self._migrated = {file.relative: file for file in migrated}
        self._candidates = {one.relative: one for one in prepared.candidates}
        self._by_hand: dict[str, bytes] = {}
        self._scan: tuple[list[FileError], ScanResult] | None = None

    @property
    def root(self) -> Path:
        """The project's root."""
        return self._prepared.root

    def names(self) -> list[str]:
        """The files that were looked at."""
        return sorted(file.relative for file in self._prepared.files)

    def with_findings(self) -> list[str]:
        """The files that hold anything of interest."""
        return sorted(name for name, file in self._migrated.items() if file.found or file.changes or file.errors)

    def original(self, relative: str) -> bytes:
        """A file as it is on the disk; a single file is its own project. Nothing, for one that the migration adds.

        Raises:
            NpuifyError: it has become a link that leaves the project.
            OSError: it cannot be read.
        """
        path = self.root / relative
        place, root = Path(os.path.realpath(path)), Path(os.path.realpath(self.root))
        if root != place and root not in place.parents:
            raise NpuifyError("leads out of the project", file=relative)
        return path.read_bytes() if relative in self._candidates or path.is_file() else b""

    def file(self, relative: str) -> MigratedFile | None:
        """What becomes of a file; None where it holds nothing of interest."""
        return self._migrated.get(relative)

    def put(self, file: MigratedFile) -> None:
        """Take again what an earlier :meth:`decide` made of a file."""
        self._migrated[file.relative] = file

    def decide(self, relative: str, decides: Decides | None) -> None:
        """Migrate one file again, as a person decided on its edits."""
        if relative in self._candidates:
            places = self._trace.places if self._trace else {}
            unsafe, candidate = self._options.unsafe, self._candidates[relative]
            self._migrated[relative] = _migrate_one(
                self._worker, candidate, unsafe=unsafe, traced=places, decides=decides, later=self._later
            )

    def write_by_hand(self, relative: str, raw: bytes | None) -> None:
        """Take this content for a file, whatever becomes of it otherwise; None: no longer.

        Raises:
            NpuifyError: it does not parse, and the original does.
            OSError: the original cannot be read.
        """
        if raw is None:
            self._by_hand.pop(relative, None)
            return
        known = self._migrated.get(relative)
        _, errors, _, _ = self._worker.analyse(relative, raw, whole=True, kind=self._kind(relative))
        if errors and not (known and known.errors):
            first = errors[0]
            raise NpuifyError(first.message, advice="correct it, or discard it", file=relative, line=first.line)
        if known is None:
            digest = sha256((self.root / relative).read_bytes()).digest()
            self._migrated[relative] = MigratedFile(relative, None, [], [], [], [], digest=digest)
        self._by_hand[relative] = raw

    def changed_since(self) -> list[str]:
        """The files that this draft would change, and that are no longer what it was made from."""
        changed = []
        for relative, file in self._migrated.items():
            if file.digest and (file.raw is not None or relative in self._by_hand):
                try:
                    now = sha256((self.root / relative).read_bytes()).digest()
                except OSError:
                    now = b""
                if now != file.digest:
                    changed.append(relative)
        return changed

    def result(self) -> tuple[MigrationResult, dict[str, bytes]]:
        """As :func:`plan` gives it, with what was decided and written by hand."""
        prepared = self._prepared
        rewritten = self._rewritten()
        migrated = self._judged(rewritten)
        others = _whole_files(prepared, rewritten, self._options)
        contents = {**rewritten, **others.contents}
        changes = [*(change for file in migrated for change in file.changes), *others.changes]
        result = MigrationResult(
            scan=self._scanned(migrated),
            changes=tuple(changes),
            left=tuple(told_together(self._left(migrated))),
            changed_files=tuple(sorted(contents)),
            diff="".join(file_diff(prepared.root, relative, contents[relative]) for relative in sorted(contents)),
        )
        return result, contents

    def contents(self) -> dict[str, bytes]:
        """The new content of each file that changes: what :meth:`result` gives, without what takes long."""
        rewritten = self._rewritten()
        return {**rewritten, **_whole_files(self._prepared, rewritten, self._options).contents}

    def left(self) -> tuple[Finding, ...]:
        """What is left to do: what :meth:`result` gives, without what takes long."""
        return self._left(self._judged(self._rewritten()))

    def errors(self) -> list[FileError]:
        """What could not be treated."""
        return _errors(self._prepared, list(self._migrated.values()), self._trace)

    def _judged(self, rewritten: Mapping[str, bytes]) -> list[MigratedFile]:
        return [judged_anew(self._as_written(file), self._worker, rewritten) for file in self._migrated.values()]

    def _left(self, migrated: Sequence[MigratedFile]) -> tuple[Finding, ...]:
        left = [finding for file in migrated for finding in file.left]
        return (*self.about_project, *_untreated(self._trace, migrated), *_without_line_ends(left, self._options))

    def _rewritten(self) -> dict[str, bytes]:
        rewritten = {file.relative: file.raw for file in self._migrated.values() if file.raw is not None}
        return {**rewritten, **self._by_hand}

    def _scanned(self, migrated: Sequence[MigratedFile]) -> ScanResult:
        """What was found in the original. No decision changes that, and the paths of programs take long to follow."""
        errors = _errors(self._prepared, migrated, self._trace)
        if self._scan is None or self._scan[0] != errors:
            found = [*self.about_project, *(finding for file in migrated for finding in file.found)]
            ledger = [entry for file in migrated for entry in file.ledger]
            programs, failed = self._prepared.programs_with(found, errors)
            known = [*errors, *failed]
            self._scan = errors, self._prepared.scan_result(found, known, self.about_project, ledger, programs)
        return self._scan[1]

    def _kind(self, relative: str) -> str:
        return self._candidates[relative].kind if relative in self._candidates else ""

    def _as_written(self, file: MigratedFile) -> MigratedFile:
        """The file, with what a person wrote for it instead."""
        raw = self._by_hand.get(file.relative)
        if raw is None:
            return file
        kind = self._kind(file.relative)
        left, errors, _, _ = self._worker.analyse(file.relative, raw, whole=False, kind=kind, is_later_round=True)
        first = Position(1, 1)
        told = "the file was written by hand, from what the other changes made of it"
        change = Change(file.relative, BY_HAND, "written-by-hand", first, first, "", "", told)
        return file._replace(raw=raw, left=left, errors=[*file.errors, *errors], changes=[*file.changes, change])


# --- file by file ---


def _trace(prepared: PreparedScan, options: Options) -> Trace | None:
    if not options.from_trace:
        return None
    return read_trace(Path(options.from_trace), prepared.root, [file.relative for file in prepared.files])


def _begun(
    prepared: PreparedScan,
    worker: Worker,
    trace: Trace | None,
    options: Options,
    processes: Processes,
    progress: Progress | None,
) -> list[MigratedFile | Begun]:
    """What the first round of edits makes of each candidate; the rounds after it see all files as that left them."""
    return processes.map(
        partial(_begin_one, worker, unsafe=options.unsafe, traced=trace.places if trace else {}),
        prepared.candidates,
        files_per_process=FILES_PER_PROCESS,
        on_crash=_unchanged,
        progress=progress,
    )


def _finished(begun: Sequence[MigratedFile | Begun], later: Worker, processes: Processes) -> list[MigratedFile]:
    """What becomes of each candidate, in the order of their paths."""
    open_ones = [one for one in begun if isinstance(one, Begun)]
    finished = processes.map(
        partial(_finish_one, later), open_ones, files_per_process=FILES_PER_PROCESS, on_crash=_unchanged
    )
    done = [one for one in begun if isinstance(one, MigratedFile)]
    return sorted([*done, *finished], key=lambda file: file.relative)


def _begin_one(
    worker: Worker, candidate: Candidate, *, unsafe: bool, traced: Mapping[str, Sequence[TracedPlace]]
) -> MigratedFile | Begun:
    raw = _read(worker, candidate)
    if isinstance(raw, MigratedFile):
        return raw
    places = traced.get(candidate.relative, ())
    begun = begin_file(candidate.relative, raw, worker, unsafe=unsafe, kind=candidate.kind, traced=places)
    return begun._replace(digest=sha256(raw).digest()) if isinstance(begun, MigratedFile) else begun


def _finish_one(later: Worker, begun: Begun) -> MigratedFile:
    return finish_file(begun, later)._replace(digest=sha256(begun.raw).digest())


def _migrate_one(
    worker: Worker,
    candidate: Candidate,
    *,
    unsafe: bool,
    traced: Mapping[str, Sequence[TracedPlace]],
    decides: Decides | None,
    later: Worker,
) -> MigratedFile:
    raw = _read(worker, candidate)
    if isinstance(raw, MigratedFile):
        return raw
    places = traced.get(candidate.relative, ())
    done = migrate_file(
        candidate.relative,
        raw,
        worker,
        unsafe=unsafe,
        kind=candidate.kind,
        traced=places,
        decides=decides,
        later=later,
    )
    return done._replace(digest=sha256(raw).digest())


def _read(worker: Worker, candidate: Candidate) -> bytes | MigratedFile:
    """A candidate's content; what is said of it where no rule concerns it, or it cannot be read."""
    if not candidate.concerns:
        found, errors, _, ledger = worker.analyse_file(candidate)
        return MigratedFile(candidate.relative, None, found, found, [], errors, ledger)
    try:
        return Path(candidate.location).read_bytes()
    except OSError as error:
        return _unchanged(
            FileError(candidate.relative, phrase("cannot be read: {value}", value=error.strerror or error))
        )


def _unchanged(error: FileError) -> MigratedFile:
    return MigratedFile(error.file, None, [], [], [], [error])


# --- the project ---


def _whole_files(prepared: PreparedScan, rewritten: Mapping[str, bytes], options: Options) -> NewContents:
    """The files that are new, and those whose line ends change, with the changes that say so."""
    added = stand_ins(prepared, rewritten)
    kernels = replaced_kernels(prepared, rewritten)
    added = NewContents({**added.contents, **kernels.contents}, [*added.changes, *kernels.changes])
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
