"""Operators of torch_npu by the names that they had below ``torch``, before torch_npu was a package of its own."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.analysis.engine import Reach
from npuify.language import commas, phrase
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
    words=(".npu_", "import npu_", ", npu_", '"npu_', "'npu_"),
    evidence=Evidence.LIVE,
    source="torch.npu_format_cast(…) of the imported torch_npu, which raises in the releases 2.1 to 2.14",
)
def operator_below_torch(
    node: ast.Attribute | ast.ImportFrom | ast.Call | ast.Assign | ast.For, file: PythonFile
) -> Iterator[Diagnostic]:
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
    if isinstance(node, (ast.Assign, ast.For)):
        for one in ast.walk(node.value if isinstance(node, ast.Assign) else node.iter):
            if isinstance(one, ast.Constant):
                yield from _named_before(one, file)
        return
    asked = _asked(node, file) if isinstance(node, ast.Call) else (node.value, node.attr)
    if asked is None or not isinstance(asked[0], ast.Name):
        return
    below, attribute = asked
    name = f"{file.qualname(below)}.{attribute}"
    if name.count(".") != 1 or not name.startswith("torch.npu_"):
        return
    exists = file.release.has(f"torch_npu.{attribute}")
    is_read = isinstance(node, ast.Call) or isinstance(node.ctx, ast.Load)
    edits = [file.replace(below, "torch_npu")] if exists and is_read else []
    yield file.report(
        node,
        phrase("{name} raises in this release", name=name)
        if exists
        else phrase("torch_npu {torch_npu} has no {attribute}", torch_npu=file.release.torch_npu, attribute=attribute),
        edits=edits,
        subject=name,
        needs_torch_npu=exists,
    )


def _named_before(node: ast.Constant, file: PythonFile) -> Iterator[Diagnostic]:
    """``name = "npu_swiglu"``, then ``getattr(torch, name)``: torch becomes torch_npu, where that has all it may be."""
    word = node.value
    if not isinstance(word, str) or not word.startswith("npu_") or isinstance(file.parent(node), (ast.Call, ast.Expr)):
        return
    for one in file.reaching(Reach.FILE).flow(node, file.model).occurrences:
        call = file.parent(one.node) if one.file is file.model and not one.depth else None
        if not isinstance(call, ast.Call) or call.args[1:2] != [one.node] or file.qualname(call.args[0]) != "torch":
            continue
        if getattr(call.func, "id", "") != "getattr" or not file.source.is_builtin("getattr", file.scope(call)):
            continue
        if file.recall(("NPU137", call)):
            continue
        file.remember(("NPU137", call), True)
        asked = [value.name for value in file.values(one.node)]
        missing = [name for name in asked if not name or not file.release.has(f"torch_npu.{name}")]
        exists = bool(asked) and not missing
        lacks = (missing or [word])[0] or word
        yield file.report(
            call,
            phrase("{name} raises in this release", name=f"torch.{word}")
            if exists
            else phrase("torch_npu {torch_npu} has no {attribute}", torch_npu=file.release.torch_npu, attribute=lacks),
            edits=[file.replace(call.args[0], "torch_npu")] if exists else [],
            subject=f"torch.{word}",
            needs_torch_npu=exists,
        )


def _asked(node: ast.Call, file: PythonFile) -> tuple[ast.expr, str] | None:
    """Of what ``getattr`` or ``hasattr`` asks for which attribute, where that stands there."""
    function = node.func
    if not isinstance(function, ast.Name) or function.id not in ("getattr", "hasattr") or len(node.args) < 2:
        return None
    word = node.args[1]
    if not isinstance(word, ast.Constant) or not isinstance(word.value, str):
        return None
    return (node.args[0], word.value) if file.source.is_builtin(function.id, file.scope(node)) else None


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
    lacks = (
        phrase("torch_npu {torch_npu} has no {missing}", torch_npu=file.release.torch_npu, missing=missing[0])
        if missing
        else ""
    )
    yield file.report(
        node,
        lacks or phrase("torch.{named} raises in this release", named=named[0]),
        edits=edits if is_whole else (),
        subject=f"torch.{(missing or named)[0]}",
        advice="" if is_whole or missing else phrase("import {named} from torch_npu", named=commas(named)),
    )
