"""The version of NCCL, which a torch without NCCL cannot tell."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

NAME = "torch.cuda.nccl.version"
_CANN_VERSION = "torch_npu.npu.utils.get_cann_version"


@rule(
    "NPU134",
    "nccl-version",
    Safety.REVIEW,
    Severity.ERROR,
    words=("nccl.version",),
    names=("torch.cuda",),
    evidence=Evidence.PACKAGE,
)
def nccl_version(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """``torch.cuda.nccl.version()`` calls ``torch._C._nccl_version``, which a torch without NCCL lacks.

    Where a program only displays the version, HCCL's version is used instead; its parts are strings, and it is empty
    where the version is unknown. Comparisons with an NCCL version are left unchanged: HCCL's version numbers mean
    something else.

    Before::

        import torch
        print(".".join(map(str, torch.cuda.nccl.version())))

    After::

        import torch
        import torch_npu
        print(".".join(map(str, tuple(torch_npu.npu.utils.get_cann_version("HCCL").split(".")))))
    """
    if not is_nccl_version(node, file) or guarded(node, file):
        return
    compared = is_compared(node, file)
    there = file.release.has(_CANN_VERSION) and not compared
    yield file.report(
        node,
        "a torch without NCCL has no NCCL version",
        edits=[file.replace(node, f'tuple({_CANN_VERSION}("HCCL").split("."))')] if there else [],
        subject=NAME,
        source="torch/cuda/nccl.py; torch_npu/npu/utils.py",
        advice="HCCL versions are not comparable with NCCL versions; choose the NPU's branch by hand"
        if compared
        else "the parts of HCCL's version are strings"
        if there
        else "remove it",
        needs_torch_npu=there,
    )


def is_nccl_version(node: ast.AST, file: PythonFile) -> bool:
    """Whether a node is a call of ``torch.cuda.nccl.version`` as programs write it."""
    return isinstance(node, ast.Call) and not node.args and not node.keywords and file.qualname(node.func) == NAME


def is_compared(node: ast.AST, file: PythonFile) -> bool:
    """Whether the version, or a part of it, is compared with something."""
    parent = file.parent(node)
    while isinstance(parent, ast.Subscript):
        parent = file.parent(parent)
    return isinstance(parent, ast.Compare)


def guarded(node: ast.AST, file: PythonFile) -> bool:
    """Whether it runs only where ``hasattr(torch._C, "_nccl_version")`` is true."""
    return any(
        isinstance(up, (ast.If, ast.IfExp)) and "_nccl_version" in file.code(up.test) for up in file.ancestors(node)
    )
