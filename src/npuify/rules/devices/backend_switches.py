"""Switches of cuDNN and cuBLAS, which torch keeps on every machine and which an NPU does not read."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.model import Safety, Severity
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_ROOTS = ("torch.backends.cudnn", "torch.backends.cuda")


@rule(
    "NPU140",
    "cuda-backend-switch",
    Safety.MANUAL,
    Severity.INFO,
    words=("cudnn", "backends.cuda", "sdp_kernel"),
    names=("torch.backends",),
)
def cuda_backend_switch(node: ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """``torch.backends.cudnn`` and ``torch.backends.cuda`` have no effect on an NPU.

    Setting them is harmless, so the code is left unchanged; where the NPU has an equivalent switch, the finding names
    it.
    """
    name = file.qualname(node)
    if name is None or not name.startswith(_ROOTS):
        return
    parent = file.parent(node)
    if isinstance(parent, ast.Attribute) and parent.value is node:
        return
    counterpart = file.release.counterpart(name)
    if counterpart is None:
        return
    meaning = counterpart.meaning
    if meaning is None:
        asked = isinstance(parent, ast.Call) and parent.func is node
        said = "reports on CUDA, not on the NPU" if asked else "has no effect on an NPU"
        message, severity, advice = f"{name} {said}", Severity.INFO, ""
    else:
        message, severity, advice = f"{name}: {meaning.message}", meaning.severity, meaning.advice
    yield file.report(
        node,
        message,
        severity=severity,
        subject=name,
        evidence=counterpart.evidence,
        source=counterpart.source,
        advice=advice,
    )
