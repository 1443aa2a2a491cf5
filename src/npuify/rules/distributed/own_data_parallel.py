"""DataParallel by other ways than calling it: classes derived from it, and its parts called one by one."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.language import listed, phrase, plural
from npuify.model import Safety, Severity
from npuify.rules.common.packages.import_guards import no_other_takes
from npuify.rules.distributed.data_parallel import DATA_PARALLEL, SEVERAL, STEPS, names_several
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_PARTS = frozenset(
    f"torch.nn.parallel.{name}"
    for name in ("replicate", "parallel_apply", "data_parallel", "replicate.replicate", "parallel_apply.parallel_apply",
                 "data_parallel.data_parallel")
)  # fmt: skip


_SEVERAL_CARDS = re.compile(r"device_count\(\)\s*(?:>\s*1|>=\s*2)$")
_CALLERS = 3


@rule(
    "NPU319",
    "own-data-parallel",
    Safety.MANUAL,
    Severity.WARNING,
    words=(
        ".dataparallel)",
        ".dataparallel,",
        "(dataparallel)",
        "(dataparallel,",
        "import dataparallel",
        "nn.parallel.replicate",
        "nn.parallel.parallel_apply",
        "nn.parallel.data_parallel",
        "nn.parallel import",
    ),
    source="what the package patches; torch/nn/parallel calls CUDA's copies between cards",
)
def own_data_parallel(node: ast.ClassDef | ast.ImportFrom | ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A class derives from ``DataParallel``, or the program calls its parts itself: ``replicate``, ``parallel_apply``.

    torch_npu replaces ``DataParallel`` as a whole, or not at all; what a program makes of its parts, it does not know.
    Reported once for each class, and where a part is imported or called.
    """
    if isinstance(node, ast.ClassDef):
        yield from _derived(node, file)
        return
    if isinstance(node, ast.Call):
        name = file.qualname(node.func) or ""
        if isinstance(node.func, ast.Attribute) and name in _PARTS:
            yield _parts(node, [name], file)
        return
    if node.level or not (node.module or "").startswith("torch.nn"):
        return
    names = [f"{node.module}.{alias.name}" for alias in node.names]
    called = [name for name, alias in zip(names, node.names, strict=True) if _is_called(alias, name, file)]
    if called:
        yield _parts(node, called, file)
    for name, alias in zip(names, node.names, strict=True):
        if name in DATA_PARALLEL and alias.asname:
            for found in file.nodes_on_lines_with(alias.asname):
                if isinstance(found, ast.ClassDef):
                    yield from _derived(found, file)


def _derived(node: ast.ClassDef, file: PythonFile) -> Iterator[Diagnostic]:
    if any(file.qualname(base) in DATA_PARALLEL for base in node.bases):
        base = next(base for base in node.bases if file.qualname(base) in DATA_PARALLEL)
        yield file.report(
            base,
            phrase(
                "{name} is a DataParallel, which drives all cards from one process: torch_npu supports "
                "that poorly, and does not know what the class makes of it",
                name=node.name,
            ),
            subject="torch.nn.DataParallel",
            advice=phrase("leave {name} out for one card; for several cards: {STEPS}", name=node.name, STEPS=STEPS),
            only_with=SEVERAL if _is_used_with_several(node.name, file, _CALLERS) else "",
        )


def _parts(node: ast.AST, names: list[str], file: PythonFile) -> Diagnostic:
    parts = [name.rpartition(".")[2] for name in names]
    # Asked of the real torch_npu 2.13.0 with one device: the function hands the batch to the module, as the class does.
    is_whole = set(parts) == {"data_parallel"} and not (isinstance(node, ast.Call) and names_several(node, 2))
    of_several = [_is_used_with_several(one, file, _CALLERS) for one in _bound(node)] or [
        _runs_with_several(node, file, _CALLERS)
    ]
    return file.report(
        node,
        plural(
            "{parts} is a part of DataParallel, which drives all cards from one process: torch_npu "
            "supports the whole of it poorly; its parts by themselves are not known to work",
            "{parts} are parts of DataParallel, which drives all cards from one process: torch_npu "
            "supports the whole of it poorly; its parts by themselves are not known to work",
            len(parts),
            parts=listed(parts),
        ),
        subject=f"torch.nn.parallel.{parts[0]}",
        advice=phrase("call the module itself for one card; for several cards: {STEPS}", STEPS=STEPS),
        only_with=SEVERAL if is_whole or all(of_several) else "",
    )


def _bound(node: ast.AST) -> list[str]:
    """The names that an import gives the parts."""
    if not isinstance(node, ast.ImportFrom):
        return []
    return [one.asname or one.name for one in node.names if f"{node.module}.{one.name}" in _PARTS]


def _runs_with_several(node: ast.AST, file: PythonFile, callers: int) -> bool:
    """Whether a place is run only where ``device_count()`` says that there are several cards."""
    current = node
    for up in file.ancestors(node):
        if isinstance(up, ast.If) and current in up.body and _asks_for_several(up.test, file):
            return True
        if isinstance(up, ast.FunctionDef):
            at_margin = isinstance(file.parent(up), ast.Module)
            return at_margin and callers > 0 and _is_used_with_several(up.name, file, callers - 1)
        if isinstance(up, (ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            return False
        current = up
    return False


def _is_used_with_several(name: str, file: PythonFile, callers: int) -> bool:
    """Whether all that is done with a name of the file is to call it where there are several cards."""
    uses = [one for one in file.model.references(name) if isinstance(one, ast.expr)]
    return (
        bool(uses)
        and no_other_takes([name], file)
        and all(
            isinstance(call := file.model.parent(one), ast.Call)
            and call.func is one
            and _runs_with_several(call, file, callers)
            for one in uses
        )
    )


def _asks_for_several(test: ast.expr, file: PythonFile) -> bool:
    if isinstance(test, ast.BoolOp):
        return isinstance(test.op, ast.And) and any(_asks_for_several(one, file) for one in test.values)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    counted = test.left
    bound = file.assigned(counted) if isinstance(counted, ast.Name) else [counted]
    codes = [file.code(one) for one in bound if one is not None]
    condition = file.code(test)[len(file.code(counted)) :]
    return len(codes) == len(bound) > 0 and all(_SEVERAL_CARDS.search(f"{code}{condition}") for code in codes)


def _is_called(alias: ast.alias, name: str, file: PythonFile) -> bool:
    """Whether a part is imported and called here, and not only handed on."""
    if name not in _PARTS:
        return False
    bound = alias.asname or alias.name
    return any(
        isinstance(node, ast.Call) and file.qualname(node.func) == name for node in file.nodes_on_lines_with(bound)
    )
