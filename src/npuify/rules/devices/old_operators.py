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
    words=(".npu_", "import npu_", ", npu_"),
    names=("torch.npu_",),
    evidence=Evidence.LIVE,
    source="torch.npu_format_cast(…) of the imported torch_npu, which raises in the releases 2.1 to 2.14",
)
def operator_below_torch(node: ast.Attribute | ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
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
    if isinstance(node, ast.ImportFrom):
        yield from _imported(node, file)
        return
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


def _imported(node: ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
    """``from torch import npu_format_cast``, which is torch_npu's where all that is imported is."""
    named = [alias.name for alias in node.names if alias.name.startswith("npu_")]
    if node.module != "torch" or node.level or not named:
        return
    missing = [name for name in named if not file.release.has(f"torch_npu.{name}")]
    start = file.source.start(node)
    written = file.source.segment(start, start + len("from torch ")) == "from torch "
    edits = [file.edit(start + len("from "), start + len("from torch"), "torch_npu")]
    is_whole = written and not missing and len(named) == len(node.names)
    lacks = f"torch_npu {file.release.torch_npu} has no {missing[0]}" if missing else ""
    yield file.report(
        node,
        lacks or f"torch.{named[0]} raises in this release",
        edits=edits if is_whole else (),
        subject=f"torch.{(missing or named)[0]}",
        advice="" if is_whole or missing else f"import {', '.join(named)} from torch_npu",
    )
