"""Switches of cuDNN and cuBLAS, which torch keeps on every machine and which an NPU does not read."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Safety, Severity
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_LIBRARIES = {
    "torch.backends.cuda.preferred_linalg_library": ("magma", "cusolver"),
    "torch.backends.cuda.preferred_blas_library": ("cublaslt", "hipblaslt"),
}
"""Choices of a library that a torch without CUDA refuses (RuntimeError); asked of torch 2.13.0 under torch_npu."""
_ROOTS = ("torch.backends.cudnn", "torch.backends.cuda")


@rule(
    "NPU140",
    "cuda-backend-switch",
    Safety.MANUAL,
    Severity.WARNING,
    words=("cudnn", "backends.cuda", "sdp_kernel"),
    names=("torch.backends",),
)
def cuda_backend_switch(node: ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """``torch.backends.cudnn`` and ``torch.backends.cuda`` have no effect on an NPU.

    Setting most of them is harmless, which is a note, and the code is left unchanged; it is a warning where results
    may differ, and where the NPU has an equivalent switch, the finding names it. What raises in a torch that is built
    without CUDA is told as an error: the cache of cuFFT's plans, and the choice of MAGMA, cuSOLVER or cuBLASLt.
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
        message, severity, advice = (
            phrase("{name}: {message}", name=name, message=meaning.message),
            meaning.severity,
            meaning.advice,
        )
    if name in _LIBRARIES and isinstance(parent, ast.Call) and parent.func is node:
        chosen = _choice(parent)
        if chosen in _LIBRARIES[name]:
            message, severity = (
                phrase('{name}: a torch that is built without CUDA raises at "{chosen}".', name=name, chosen=chosen),
                Severity.ERROR,
            )
            advice = "Remove the call: an NPU has no such libraries to choose from."
        elif chosen is None:
            listed = " and ".join(f'"{one}"' for one in _LIBRARIES[name])
            message, severity = (
                phrase("{name}: a torch that is built without CUDA raises at {listed}.", name=name, listed=listed),
                Severity.WARNING,
            )
            advice = "Call it only where torch.cuda.is_available(), and keep that test."
    yield file.report(
        node,
        message,
        severity=severity,
        subject=name,
        evidence=counterpart.evidence,
        source=counterpart.source,
        advice=advice,
    )


def _choice(call: ast.Call) -> str | None:
    """The library that a call chooses; empty: it only asks; None: not known here."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if not given:
        return ""
    value = given[0].value if isinstance(given[0], ast.Constant) else None
    return value.lower() if isinstance(value, str) else None
