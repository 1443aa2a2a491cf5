"""Imports of libraries that only CUDA has, in portable projects: they stand where the device is no NPU."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Safety
from npuify.rules.common.edits.statements import ends_its_line, indentation
from npuify.rules.common.helper_branches import asks_for_npu, never_on_npu
from npuify.rules.common.packages.import_guards import has_fallback, is_asked_for
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.model import Edit
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_PACKAGES = ("flash_attn", "flash_attn_interface", "flash_attn_3", "xformers", "apex")
_SAID = re.compile(rb"\b(?:flash_attn|xformers|apex)")


@rule(
    "NPU127",
    "cuda-only-import-unguarded",
    Safety.SAFE,
    words=(),
    style="portable",
    source="flash_attn, xformers and apex are CUDA extensions",
)
def cuda_only_import_unguarded(node: ast.Module, file: PythonFile) -> Iterator[Diagnostic]:
    """With ``--style portable``, an import that is only used on CUDA is only made there.

    The library's calls already have a branch for the NPU, so that the import is not needed there. On all other machines
    it runs as before, and fails as before if the library is missing.

    Before::

        import torch
        from flash_attn import flash_attn_func

        def attend(q, k, v):
            return flash_attn_func(q, k, v)

    After::

        import torch

        import compute_device

        if compute_device.type != "npu":
            from flash_attn import flash_attn_func

        def attend(q, k, v):
            return (
                compute_device.torch_npu.npu_fusion_attention(q, k, v, q.shape[2], "BSND", scale=q.shape[-1] ** -0.5)[0]
                if compute_device.type == "npu"
                else flash_attn_func(q, k, v)
            )
    """
    plan = file.plan
    if plan.style != "portable" or f"{plan.helper}.".encode() not in file.source.data:
        return
    if _SAID.search(file.source.data) is None:
        return
    test = f'if {plan.helper}.type != "npu":'
    bound_at = _line_of_import(plan.helper, node)
    for block in _blocks(node):
        for run in _runs(block, file):
            first = run[0]
            edits = _below_a_test(run, test, block, file)
            if first in node.body and first.lineno < bound_at:
                edits = []
            yield file.report(
                first,
                phrase("{package} is only used on CUDA, and cannot be imported on Ascend", package=_package(first)),
                edits=edits,
                subject=_package(first),
                advice=""
                if edits
                else phrase("import {helper} first, and this below `{test}`", helper=plan.helper, test=test),
            )


def _runs(block: list[ast.stmt], file: PythonFile) -> list[list[ast.stmt]]:
    """Imports that are for CUDA only: those that follow one another, each on lines of its own, together."""
    runs: list[list[ast.stmt]] = []
    for statement in block:
        names = cuda_only_names(statement, file)
        if not names or _is_guarded(statement, file) or not _only_on_cuda(statement, names, file):
            continue
        if indentation(statement, file) is None or not ends_its_line(statement, file):
            continue
        if runs and (runs[-1][-1].end_lineno or 0) + 1 == statement.lineno:
            runs[-1].append(statement)
        else:
            runs.append([statement])
    return runs


def _line_of_import(name: str, tree: ast.Module) -> int:
    """The line on which a module imports ``name`` at its top; 0 where it does not, so that it will be put first."""
    for item in tree.body:
        if isinstance(item, (ast.Import, ast.ImportFrom)):
            if any((alias.asname or alias.name) == name for alias in item.names):
                return item.lineno
    return 0


def _blocks(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and any(isinstance(item, (ast.Import, ast.ImportFrom)) for item in block):
                yield block


def _is_test(statement: ast.stmt, file: PythonFile) -> bool:
    """Whether a statement is ``if compute_device.type != "npu":`` with nothing for an NPU."""
    return isinstance(statement, ast.If) and not statement.orelse and asks_for_npu(statement.test, file) is False


def _package(statement: ast.stmt) -> str:
    name: str | None = ""
    if isinstance(statement, ast.ImportFrom):
        name = statement.module
    elif isinstance(statement, ast.Import):
        name = statement.names[0].name
    return (name or "").partition(".")[0]


def cuda_only_names(statement: ast.stmt, file: PythonFile) -> list[str]:
    """The names that an import binds, where it takes all of them from a library that only CUDA has."""
    if not isinstance(statement, (ast.Import, ast.ImportFrom)):
        return []
    if isinstance(statement, ast.ImportFrom):
        tops = [(statement.module or "").partition(".")[0]] if not statement.level else [""]
        names = [alias.asname or alias.name for alias in statement.names]
    else:
        tops = [alias.name.partition(".")[0] for alias in statement.names]
        names = [alias.asname or alias.name.partition(".")[0] for alias in statement.names]
    if not all(top in _PACKAGES and top not in file.project.packages for top in tops) or "*" in names:
        return []
    return names


def _is_guarded(statement: ast.stmt, file: PythonFile) -> bool:
    return (
        never_on_npu(statement, file)
        or has_fallback(statement, file)
        or is_asked_for(statement, _package(statement), file)
    )


def _only_on_cuda(statement: ast.stmt, names: list[str], file: PythonFile) -> bool:
    """Whether the names are used, in this file alone, and never on an NPU."""
    if file.source.relative.endswith("__init__.py") or b"__all__" in file.source.data:
        return False
    scope = file.scope(statement)
    used = False
    for node in file.nodes_on_lines_with(*names):
        if isinstance(node, (ast.Global, ast.Nonlocal)) and not set(names).isdisjoint(node.names):
            return False
        if not isinstance(node, ast.Name) or node.id not in names:
            continue
        owner = file.scope(node).lookup(node.id)
        if owner is None or owner[0] is not scope:
            continue
        if not isinstance(node.ctx, ast.Load) or not never_on_npu(node, file):
            return False
        used = True
    return used and not _is_taken_from_here(names, file)


def _is_taken_from_here(names: list[str], file: PythonFile) -> bool:
    """Whether another module of the project imports one of the names from this one."""
    own = file.source.relative.rpartition("/")[2].removesuffix(".py").encode()
    pattern = re.compile(
        rb"\bfrom\b[^\n]*\b" + re.escape(own) + rb"[ \t]+import\b(?:[^\n(]|\([^)]*\))*?(?:\*|\b(?:"
        + b"|".join(re.escape(name.encode()) for name in names)
        + rb")\b)"
    )  # fmt: skip
    project = file.project
    for other in sorted({found for name in names for found in project.files_with(name.encode())}):
        if other == file.source.relative:
            continue
        try:
            if pattern.search(project.read(other)):
                return True
        except OSError:
            return True
    return False


def _below_a_test(run: list[ast.stmt], test: str, block: list[ast.stmt], file: PythonFile) -> list[Edit]:
    """Edits that put statements below ``test``, or below the same test that stands right above them."""
    indent = indentation(run[0], file) or ""
    deeper = "\t" if "\t" in indent else "    "
    starts = file.source.text.line_starts
    place = block.index(run[0])
    above = block[place - 1] if place else None
    shared = above is not None and _is_test(above, file) and (above.end_lineno or 0) + 1 == run[0].lineno
    edits = []
    for statement in run:
        start = file.source.start(statement)
        is_first = statement is run[0] and not shared
        before = f"{test}{file.source.text.newline}{indent}{deeper}" if is_first else deeper
        edits.append(file.edit(start, start, before))
        for line in range(statement.lineno, statement.end_lineno or statement.lineno):
            edits.append(file.edit(starts[line], starts[line], deeper))
    return edits
