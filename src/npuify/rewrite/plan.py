"""Work out a whole migration, without writing anything."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from npuify.engine.processes import Processes
from npuify.engine.scan import prepare
from npuify.engine.traced import left_over
from npuify.engine.worker import WORTH_A_PROCESS, Worker
from npuify.helpers import compute_device
from npuify.model import Change, FileError, MigrationResult, Position, ScanResult
from npuify.project.traced import read_trace
from npuify.rewrite.diff import unified
from npuify.rewrite.fixpoint import MigratedFile, migrate_file
from npuify.rules.environment.line_ends import NORMALIZED, normalized
from npuify.rules.environment.line_ends import RULE as LINE_ENDS
from npuify.rules.environment.options import DEVICE, NCCL, NOT_TAKEN
from npuify.rules.helper_modules import used_helpers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from npuify.engine.scan import Work
    from npuify.engine.worker import Candidate
    from npuify.model import Finding
    from npuify.options import Options
    from npuify.project.traced import Trace, TracedPlace

    Progress = Callable[[int, int], None]


_WINDOWS = b"\r\n"
_OF_OPTIONS = frozenset((NCCL.code, DEVICE.code, NOT_TAKEN.code))


def plan(source: Path, options: Options, progress: Progress | None = None) -> tuple[MigrationResult, dict[str, bytes]]:
    """Work out a migration without writing anything.

    Returns:
        The result, its ``diff`` filled in, and the new content of each file that changes, by relative path.
    """
    with Processes(options.jobs) as processes:
        work = prepare([source], options, processes)
        worker = work.worker()
        trace = None
        if options.from_trace:
            trace = read_trace(Path(options.from_trace), work.root, [file.relative for file in work.files])
        task = partial(_migrate_one, worker, unsafe=options.unsafe, traced=trace.places if trace else {})
        done = processes.each(task, work.candidates, worth=WORTH_A_PROCESS, lost=_lost, progress=progress)
    done = sorted(done, key=lambda item: item.relative)
    contents = {item.relative: item.raw for item in done if item.raw is not None}
    done = [_judged_anew(item, worker, contents) for item in done]
    added = _helpers(work, contents)
    helpers = _device_helpers(work, contents)
    contents |= dict.fromkeys(helpers, compute_device.text())
    mended = _normalize(work, contents) if options.normalize_newlines else []
    errors = sorted(
        (
            *work.errors,
            *(error for item in done for error in item.errors),
            *(trace.errors if trace else ()),
        ),
        key=lambda error: error.file,
    )
    untreated = _untreated(trace, done) if trace else ()
    scan = ScanResult(
        root=str(work.root),
        release=work.release,
        findings=(*work.whole, *(finding for item in done for finding in item.found)),
        errors=tuple(errors),
        files_seen=work.files_seen,
        files_parsed=len(work.candidates),
        bytes_seen=work.bytes_seen,
        survey=work.survey,
        style=options.style,
    )
    result = MigrationResult(
        scan=scan,
        changes=(
            *(change for item in done for change in item.changes),
            *mended,
            *(
                _added(name, "NPU650", "call-without-npu-kernel", "a module that migrated files import")
                for name in added
            ),
            *(
                _added(name, "NPU118", "device-helper-not-imported", "the helper module that names the device")
                for name in helpers
            ),
        ),
        left=(
            *work.whole,
            *untreated,
            *(
                finding
                for item in done
                for finding in item.left
                if not options.normalize_newlines or finding.code != LINE_ENDS.code
            ),
        ),
        changed_files=tuple(sorted(contents)),
        diff="".join(_diff(relative, work.root, contents[relative]) for relative in sorted(contents)),
    )
    return result, contents


def _untreated(trace: Trace, done: list[MigratedFile]) -> tuple[Finding, ...]:
    changes = [change for item in done for change in item.changes]
    return tuple(left_over(trace, changes, [finding for item in done for finding in item.found]))


def _lost(error: FileError) -> MigratedFile:
    return MigratedFile(error.file, None, [], [], [], [error])


def _migrate_one(
    worker: Worker, candidate: Candidate, *, unsafe: bool, traced: Mapping[str, Sequence[TracedPlace]]
) -> MigratedFile:
    try:
        raw = Path(candidate.location).read_bytes()
    except OSError as error:
        return _lost(FileError(candidate.relative, f"cannot be read: {error.strerror or error}"))
    places = traced.get(candidate.relative, ())
    return migrate_file(candidate.relative, raw, worker, unsafe=unsafe, kind=candidate.kind, traced=places)


def _judged_anew(item: MigratedFile, worker: Worker, contents: Mapping[str, bytes]) -> MigratedFile:
    """A launcher with what it still passes to programs in vain, by what the migrated programs declare."""
    if item.relative.endswith(".py") or not any(finding.code in _OF_OPTIONS for finding in (*item.found, *item.left)):
        return item
    raw = contents.get(item.relative)
    try:
        raw = raw if raw is not None else (worker.run.project.root / item.relative).read_bytes()
    except OSError:
        return item
    options = worker.options_of(contents, is_migrated=True)
    found = worker.analyse(item.relative, raw, later=True, options=options).findings
    lines = raw.decode("utf-8", "replace").splitlines()

    def is_of_npu(finding: Finding) -> bool:
        passed = lines[finding.start.line - 1][finding.start.column - 1 :]
        return finding.code == NOT_TAKEN.code and passed.lower().startswith(("npu", "hccl"))

    left = [finding for finding in item.left if not is_of_npu(finding)] + [one for one in found if is_of_npu(one)]
    left.sort(key=lambda finding: (finding.start, finding.end, finding.code))
    return item._replace(left=left)


def _helpers(work: Work, contents: dict[str, bytes]) -> list[str]:
    """Put the modules that migrated files import, and that are not there yet, among the contents."""
    wanted = used_helpers(contents, work.project)
    missing = sorted(name for name in wanted if not (work.root / name).exists())
    contents |= {name: wanted[name] for name in missing}
    return missing


def _device_helpers(work: Work, contents: dict[str, bytes]) -> list[str]:
    """The helper modules that migrated files import and that are not there yet."""
    plan = work.plan
    used = set()
    for relative, raw in contents.items():
        if relative in plan.homes and re.search(rb"^[ \t]*(?:from|import) [^\n]*\b" + plan.helper.encode(), raw, re.M):
            used.add(plan.homes[relative].helper)
    return sorted(name for name in used if not (work.root / name).exists())


_STAND_INS = ("NPU650", "call-without-npu-kernel", "a module that migrated files import")
_DEVICE_HELPER = ("NPU118", "device-helper-not-imported", "the helper module that names the device")


def _added(relative: str, code: str, name: str, message: str) -> Change:
    return Change(
        file=relative,
        code=code,
        name=name,
        start=Position(1, 1),
        end=Position(1, 1),
        before="",
        after="a new file",
        message=message,
    )


def _normalize(work: Work, contents: dict[str, bytes]) -> list[Change]:
    """Give the shell and Python files in ``contents``, and those of the project, the line ends of Linux."""
    changes = []
    for file in work.files:
        if file.kind not in NORMALIZED:
            continue
        try:
            old = contents.get(file.relative) or file.path.read_bytes()
        except OSError:
            continue
        new = normalized(old)
        if new == old:
            continue
        contents[file.relative] = new
        changes.append(
            Change(
                file=file.relative,
                code=LINE_ENDS.code,
                name=LINE_ENDS.name,
                start=Position(1, 1),
                end=Position(1, 1),
                before="\\r\\n",
                after="\\n",
                message=f"{old.count(_WINDOWS)} lines had Windows line ends",
            )
        )
    return changes


def _diff(relative: str, root: Path, new: bytes) -> str:
    """A unified diff that ``git apply`` and ``patch`` take."""
    there = (root / relative).exists()
    old = (root / relative).read_bytes() if there else b""
    before = f"a/{relative}" if there else "/dev/null"
    return unified(_lines(old), _lines(new), before, f"b/{relative}")


def _lines(raw: bytes) -> list[str]:
    """Lines as ``patch`` sees them: ended by a newline only, bytes that are not UTF-8 kept as surrogates."""
    pieces = raw.decode("utf-8", "surrogateescape").split("\n")
    return [piece + "\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])
