"""One project examined, in a process that does nothing else meanwhile."""

from __future__ import annotations

import time
import zlib
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.fleet.branch import branched
from npuify.fleet.git import GitFault, clone, commit_of
from npuify.fleet.model import Fault, Findings, Migrated, Operator, Outcome, Work
from npuify.fleet.options import options_of
from npuify.fleet.tree import TooLarge, fingerprint
from npuify.language import phrase, speaking
from npuify.model import NpuifyError
from npuify.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from npuify.fleet.model import Task
    from npuify.model import ScanResult
    from npuify.options import Options

_FORMAT: Final = 1
"""Raised when results of an earlier npuify with the same version would no longer do."""


class _Faulty(Exception):
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def examine(task: Task, stage: Callable[[], None] = lambda: None) -> Outcome:
    """What becomes of a task; whatever goes wrong is its outcome, too.

    Args:
        task: what to do.
        stage: called when its files are there, and its time for them begins.
    """
    started = time.monotonic()
    with speaking(task.language):
        try:
            outcome = _examine(task, stage)
        except (_Faulty, GitFault) as error:
            outcome = Outcome(fault=error.fault)
        except TooLarge as error:
            advice = phrase("raise --max-size or --max-files, or list a folder further down")
            outcome = Outcome(fault=Fault("size", str(error), advice))
        except NpuifyError as error:
            outcome = Outcome(fault=Fault("settings", str(error).partition("\n")[0], error.advice))
        except OSError as error:
            outcome = Outcome(
                fault=Fault("missing", error.strerror or str(error), phrase("see whether it can be read"))
            )
        except MemoryError:
            outcome = Outcome(fault=out_of_memory(task))
        except Exception as error:
            text = " ".join(f"{type(error).__name__}: {error}".split())[:600]
            advice = phrase("npuify scan on it alone, with NPUIFY_TRACEBACK=1, shows where; please report it")
            outcome = Outcome(fault=Fault("bug", phrase("this is a bug in npuify: {error}", error=text), advice))
    return msgspec.structs.replace(outcome, seconds=time.monotonic() - started)


def out_of_memory(task: Task) -> Fault:
    """The fault of a project for which the memory does not suffice."""
    from npuify.fleet.tree import shown_size

    return Fault(
        "memory",
        phrase("needs more than {size} of memory", size=shown_size(task.limits.memory)),
        phrase("raise --max-memory, or leave parts out with --exclude or [tool.npuify] exclude"),
    )


def _examine(task: Task, stage: Callable[[], None]) -> Outcome:
    if task.source.is_git:
        return _of_address(task, stage)
    root = Path(task.source.place)
    if not root.is_dir():
        what = phrase("is no folder") if root.exists() else phrase("there is no such folder")
        raise _Faulty(Fault("missing", what, phrase("mend the list, or mount what holds it")))
    stage()
    tree = fingerprint(task.source.place, task.limits)
    if task.work is Work.BRANCH:
        return branched(task, stage)
    return _of_folder(task, root, tree, "")


def _of_address(task: Task, stage: Callable[[], None]) -> Outcome:
    # The commit tells what is there, and is asked for before anything is fetched.
    revision = commit_of(task.source, task.limits.seconds)
    mark = _mark(task, revision, task.options)
    if task.work is not Work.BRANCH and revision and task.known == mark:
        return Outcome(mark, revision, unchanged=True)
    if task.work is Work.BRANCH:
        return branched(task, stage)
    root = Path(task.clones) / source_folder(task)
    commit = clone(task.source, root, task.limits)
    stage()
    fingerprint(str(root), task.limits)
    outcome = _of_folder(task, root, "", commit, is_clone=True)
    return msgspec.structs.replace(outcome, fingerprint=_mark(task, commit, task.options))


def source_folder(task: Task) -> str:
    """The name of a clone's folder, which reports show as the project's."""
    return "".join(one if one.isalnum() or one in "._-" else "-" for one in task.source.name.rpartition("/")[2]) or "x"


def _of_folder(task: Task, root: Path, tree: str, revision: str, *, is_clone: bool = False) -> Outcome:
    options = options_of(task, root, is_clone=is_clone)
    mark = _mark(task, tree, msgspec.to_builtins(options))
    if task.work is not Work.BRANCH and tree and task.known == mark:
        return Outcome(mark, revision, unchanged=True)
    if task.work is Work.PATCH:
        return _patched(root, options, mark, revision)
    from npuify.engine.scan import scan
    from npuify.report import render_scan

    result = scan([root], options)
    if is_clone:
        # Where the clone lay for a moment is nobody's concern.
        result = msgspec.structs.replace(result, root=task.source.name)
    page = zlib.compress(render_scan(result, "html").encode("utf-8"), 3)
    return Outcome(mark, revision, findings=_findings(result), page=page)


def _mark(task: Task, tree: str, options: object) -> str:
    rests_on = (_FORMAT, __version__, task.work.value, tree, msgspec.to_builtins(options), task.language)
    return sha256(msgspec.msgpack.encode(rests_on)).hexdigest()[:32]


def _patched(root: Path, options: Options, mark: str, revision: str) -> Outcome:
    from npuify.migration import migrate

    result = migrate(root, None, options, mode="diff")
    left = sum(one.severity.value != "info" for one in result.left)
    done = Migrated(len(result.changed_files), len(result.changes), left)
    diff = result.diff.encode("utf-8", "surrogateescape")
    return Outcome(mark, revision, migrated=done, page=zlib.compress(diff, 3) if diff else b"")


def _findings(result: ScanResult) -> Findings:
    from npuify.fleet.obstacles import obstacles
    from npuify.report.verdicts.verdict import judge

    verdict = judge(result)
    estimate = verdict.estimate
    return Findings(
        level=verdict.level.value,
        title=verdict.title,
        summary=verdict.summary,
        hours=(float(estimate.low), float(estimate.likely), float(estimate.high)),
        files=result.files_seen,
        size=result.bytes_seen,
        torch_npu=result.release.torch_npu,
        migrated=verdict.migrated.count,
        review=verdict.review.count,
        manual=verdict.manual.count,
        notes=verdict.notes,
        errors=len(result.errors),
        obstacles=obstacles(result, verdict),
        operators=tuple(Operator(one.what, len(one.places)) for one in verdict.operators),
        codes=dict(sorted(Counter(one.code for one in result.findings).items())),
    )
