"""Findings of a project that belong to a failure: the line that still says cuda."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.model import Severity

from .model import Diagnosis, LinkedFinding

if TYPE_CHECKING:
    from pathlib import Path

    from npuify.model import Finding

_CODES: Final = {
    "cuda-left": ("NPU1", "NPU2", "NPU6"),
    "capability-gate": ("NPU1", "NPU2", "NPU4"),
    "nccl-left": ("NPU3", "NPU7"),
    "cuda-only-package": ("NPU5", "NPU6"),
    "triton-conflict": ("NPU6",),
    "unsupported-dtype": ("NPU2", "NPU4"),
    "unsupported-operator": ("NPU4", "NPU5"),
    "operator-fallback": ("NPU4",),
    "checkpoint-device": ("NPU1", "NPU8"),
    "path-rewritten": ("NPU1",),
    "forked": ("NPU3", "NPU8"),
    "overflow": ("NPU2",),
    "wrong-device-index": ("NPU1", "NPU3"),
    "out-of-memory": ("NPU7",),
}
"""Which findings can be behind which cause, by the beginnings of their codes."""
_SHOWN: Final = 8


def link(diagnosis: Diagnosis, project: Path) -> Diagnosis:
    """``diagnosis`` with the findings of ``project`` that belong to it, the nearest to the user's own frame first."""
    codes = _CODES.get(diagnosis.cause, ())
    frame = diagnosis.frame
    if not codes and frame is None:
        return diagnosis
    from npuify.engine.scan import scan
    from npuify.options import Options

    found = scan([project], Options(jobs=1))
    of_cause = [one for one in found.findings if one.code.startswith(codes)] if codes else []
    at_frame = [one for one in found.findings if frame is not None and _same_file(one.file, frame.file)]

    def near(one: Finding) -> tuple[int, int, str, int]:
        here = frame is not None and _same_file(one.file, frame.file)
        distance = abs(one.start.line - frame.line) if here and frame is not None else 0
        return (
            (0 if here else 1, distance, one.file, one.start.line)
            if here
            else (
                1,
                0 if one.severity is Severity.ERROR else 1,
                one.file,
                one.start.line,
            )
        )

    chosen = sorted({(one.code, one.file, one.start.line): one for one in (*of_cause, *at_frame)}.values(), key=near)
    linked = tuple(
        LinkedFinding(code=one.code, file=one.file, line=one.start.line, message=one.message) for one in chosen[:_SHOWN]
    )
    return msgspec.structs.replace(diagnosis, findings=linked)


def _same_file(relative: str, path: str) -> bool:
    """Whether a path in a log may be the project's file: logs are often written on another machine."""
    ours, theirs = PurePath(relative).parts, PurePath(path.replace("\\", "/")).parts
    return theirs[-len(ours) :] == ours
