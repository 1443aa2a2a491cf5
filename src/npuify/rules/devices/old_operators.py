"""Operators of torch_npu by the names that they had below ``torch``, before torch_npu was a package of its own."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.model import Evidence, Safety
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


@rule(
    "NPU137",
    "operator-below-torch",
    Safety.SAFE,
    words=(".npu_",),
    names=("torch.npu_",),
    evidence=Evidence.LIVE,
    source="torch.npu_format_cast(…) of the imported torch_npu, which raises in the releases 2.1 to 2.14",
)
def operator_below_torch(node: ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """``torch.npu_…`` raises RuntimeError: the operators of torch_npu are called by ``torch_npu.npu_…``.

    Before::

        import torch
        import torch_npu
        x = torch_npu.npu_format_cast(torch.zeros(2).npu(), 2)
        y = torch.npu_format_cast(x, 29)

    After::

        import torch
        import torch_npu
        x = torch_npu.npu_format_cast(torch.zeros(2).npu(), 2)
        y = torch_npu.npu_format_cast(x, 29)
    """
    name = file.qualname(node) or ""
    if name.count(".") != 1 or not name.startswith("torch.npu_") or not isinstance(node.value, ast.Name):
        return
    exists = file.release.has(f"torch_npu.{node.attr}")
    edits = [file.replace(node.value, "torch_npu")] if exists and isinstance(node.ctx, ast.Load) else []
    yield file.report(
        node,
        f"{name} raises in this release" if exists else f"torch_npu {file.release.torch_npu} has no {node.attr}",
        edits=edits,
        subject=name,
        needs_torch_npu=exists,
    )
