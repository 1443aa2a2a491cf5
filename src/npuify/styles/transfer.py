"""What ``transfer_to_npu`` does to a program that it should not, and what it cannot reach: the automatic style only."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Safety, Severity
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_PARAMETERS = {"torch.load": ("f", "map_location"), "torch.from_file": ("filename", "shared", "size")}
"""Functions that take a path, and that are wrapped: every string passed by position gets "cuda" replaced by "npu"."""
_OPENS = frozenset(("open", "BytesIO", "Path", "PurePath", "get_local_path", "cached_file"))


@rule(
    "NPU122",
    "path-with-cuda",
    Safety.SAFE,
    words=("torch.load", "from_file"),
    names=("torch.load", "torch.from_file"),
    common_words=True,
    style="auto",
    source="torch_npu/contrib/transfer_to_npu.py: _wrapper_cuda",
)
def path_with_cuda(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """``transfer_to_npu`` replaces "cuda" in every positional string argument of ``torch.load``, even in a path.

    Passed by keyword, the path is unchanged. Reported where the project has such paths.

    Before::

        import torch

        if __name__ == "__main__":
            state = torch.load("runs/cuda_baseline/best.pt", map_location="cuda:0")

    After::

        import torch
        import torch_npu  # noqa: F401
        from torch_npu.contrib import transfer_to_npu  # noqa: F401

        if __name__ == "__main__":
            state = torch.load(f="runs/cuda_baseline/best.pt", map_location="cuda:0")
    """
    plan = file.plan
    name = file.qualname(node.func) or ""
    if plan.style != "auto" or name not in _PARAMETERS or name not in file.release.transfer_patches:
        return
    if not node.args or any(isinstance(arg, ast.Starred) for arg in node.args):
        return
    path = node.args[0]
    if not _may_be_such_a_path(path, plan.has_cuda_paths):
        return
    parameters = _PARAMETERS[name]
    edits: list[Edit] = []
    for parameter, argument in zip(parameters, node.args, strict=False):
        start = file.source.start(argument)
        edits.append(file.edit(start, start, f"{parameter}="))
    yield file.report(
        path,
        phrase("transfer_to_npu would replace cuda with npu in the path that {name} gets by position", name=name),
        edits=edits if len(node.args) <= len(parameters) and not _parenthesised(path, file) else (),
        subject=name,
        advice="pass the path by keyword, or pass an open file",
    )


def _parenthesised(node: ast.expr, file: PythonFile) -> bool:
    """Whether a bracket of its own stands before an argument, so that no keyword can be put directly before it."""
    before = file.source.data[: file.source.start(node)].rstrip()
    return before.endswith(b"((")


def _may_be_such_a_path(node: ast.expr, has_such_paths: bool) -> bool:
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            function = part.func
            word = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            if word in _OPENS:
                return False
    words = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    if any("cuda" in word for word in words):
        return True
    return has_such_paths and not isinstance(node, ast.Constant)


@rule(
    "NPU124",
    "triton-detection",
    Safety.MANUAL,
    Severity.WARNING,
    words=("has_triton",),
    style="auto",
    source="torch_npu/contrib/transfer_to_npu.py: _patch_has_triton",
)
def triton_detection(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """``transfer_to_npu`` makes torch report that Triton is unavailable, even where triton-ascend is installed."""
    if file.plan.style != "auto":
        return
    name = file.qualname(node.func) or ""
    if not name.startswith("torch.") or not name.endswith(".has_triton"):
        return
    if not any(patched.endswith(".has_triton") for patched in file.release.transfer_patches):
        return
    yield file.report(
        node,
        phrase("transfer_to_npu makes {name}() return False", name=name),
        subject=name,
        advice="use importlib.util.find_spec('triton') to detect triton-ascend",
    )
