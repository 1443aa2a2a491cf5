"""Handling of CUDA's errors, by exception and by message text."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.edits.renaming import replace_in_literal
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


def _is_tested(node: ast.Constant, file: PythonFile) -> bool:
    """Whether a string is looked for in another (``"…" in str(error)``, ``.find``, ``.startswith``, a list of such)."""
    for up in file.ancestors(node):
        if isinstance(up, ast.Compare):
            return any(isinstance(op, (ast.In, ast.NotIn, ast.Eq, ast.NotEq)) for op in up.ops)
        if isinstance(up, ast.Call):
            word = up.func.attr if isinstance(up.func, ast.Attribute) else ""
            return word in ("find", "startswith", "search", "match", "count", "index", "__contains__")
        if not isinstance(up, (ast.List, ast.Tuple, ast.Set)):
            return False
    return False


@rule("NPU150", "oom-message", Safety.SAFE, Severity.WARNING, words=("cuda out of memory",))
def oom_message(node: ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """The text of an out-of-memory error says "NPU out of memory" on an NPU.

    A check for "out of memory" alone matches both, and stays. Only strings that are searched for are edited, not
    messages that the program prints itself.

    Before::

        import torch
        try:
            torch.zeros(2).cuda()
        except RuntimeError as error:
            if "CUDA out of memory" not in str(error):
                raise

    After::

        import torch
        import torch_npu  # noqa: F401
        try:
            torch.zeros(2).npu()
        except RuntimeError as error:
            if "NPU out of memory" not in str(error):
                raise
    """
    if not isinstance(node.value, str) or not _is_tested(node, file):
        return
    for old, new in (("CUDA out of memory", "NPU out of memory"), ("cuda out of memory", "npu out of memory")):
        if old in node.value:
            edit = replace_in_literal(node, old, new, file)
            yield file.report(
                node, 'the error says "NPU out of memory" on an NPU', edits=[edit] if edit else [], subject=old
            )


@rule(
    "NPU151",
    "cuda-error-message",
    Safety.MANUAL,
    Severity.WARNING,
    words=("cuda error", "cublas", "cudnn error", "cudnn_status", "device-side assert", "nccl error"),
    evidence=Evidence.ASSUMED,
    source="torch's CUDA error messages; an NPU's errors come from CANN and read differently",
)
def cuda_error_message(node: ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """The program checks for the text of a CUDA error, which an NPU never raises."""
    if not isinstance(node.value, str) or not _is_tested(node, file) or "out of memory" in node.value.lower():
        return
    lowered = node.value.lower()
    words = ("cuda error", "cublas", "cudnn error", "cudnn_status", "device-side assert", "nccl error")
    if any(word in lowered for word in words):
        yield file.report(
            node,
            phrase("no NPU error contains the text {value!r}, so this branch is never taken", value=node.value),
            subject=node.value,
            advice="check for the NPU's own error, or catch the exception by its type",
        )
