"""Findings of launchers that depend on what the migrated programs declare as options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.rules.environment.options import DEVICE, NCCL, NOT_TAKEN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from npuify.engine.worker import Worker
    from npuify.model import Finding
    from npuify.rewrite.fixpoint import MigratedFile

_OF_OPTIONS = frozenset((NCCL.code, DEVICE.code, NOT_TAKEN.code))


def judged_anew(file: MigratedFile, worker: Worker, contents: Mapping[str, bytes]) -> MigratedFile:
    """A launcher with what it still passes to programs in vain, by what the migrated programs declare.

    Args:
        file: any migrated file; one that passes no options stays as it is.
        worker: analyses it.
        contents: those of all migrated files that changed, by relative path.
    """
    if file.relative.endswith(".py") or not any(one.code in _OF_OPTIONS for one in (*file.found, *file.left)):
        return file
    raw = contents.get(file.relative)
    try:
        raw = raw if raw is not None else (worker.run.project.root / file.relative).read_bytes()
    except OSError:
        return file
    options = worker.options_of(contents, is_migrated=True)
    found = worker.analyse(file.relative, raw, is_later_round=True, options=options).findings
    lines = raw.decode("utf-8", "replace").splitlines()

    def is_of_npu(finding: Finding) -> bool:
        passed = lines[finding.start.line - 1][finding.start.column - 1 :]
        return finding.code == NOT_TAKEN.code and passed.lower().startswith(("npu", "hccl"))

    left = [one for one in file.left if not is_of_npu(one)] + [one for one in found if is_of_npu(one)]
    left.sort(key=lambda finding: (finding.start, finding.end, finding.code))
    return file._replace(left=left)
