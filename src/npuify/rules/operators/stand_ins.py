"""Take stand-ins for names of PyTorch whose operators the release aimed at lacks, where the user asks for it."""

from __future__ import annotations

import ast
from functools import cache
from typing import TYPE_CHECKING

from npuify.analysis.project import module_name
from npuify.helpers import STAND_INS
from npuify.knowledge.pytorch.stand_ins import needed, stand_ins
from npuify.language import phrase
from npuify.model import Edit, Evidence, Finding, Safety, Severity
from npuify.rules.common.packages.helper_modules import home_of, import_finding, import_of
from npuify.rules.common.span_findings import span_finding
from npuify.rules.registry import Rule, list_rule
from npuify.source.python import PythonSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.analysis.project import ProjectIndex
    from npuify.knowledge import ReleaseTable
    from npuify.knowledge.pytorch.stand_ins import StandIn


def _documentation(node: object, file: object) -> Iterator[object]:
    """A function or layer whose operator has no kernel in the release is replaced with one composed of others.

    This is done with ``--replace-unsupported``, and only if the release's own list of operators lacks the operator. The
    stand-ins are written into the project as ``npuify_stand_ins.py``. No release since 2.1 lacks any of the operators
    that the vendor's tool replaces with its option of this name, so none of those are replaced.

    Before::

        import torch

        def length(x, y):
            return torch.hypot(x, y)

    After::

        import torch
        import npuify_stand_ins

        def length(x, y):
            return npuify_stand_ins.hypot(x, y)
    """
    raise NotImplementedError("stand-ins are taken by their own module")


RULE = list_rule(
    Rule(
        "NPU751",
        "operator-with-stand-in",
        Safety.SAFE,
        Severity.WARNING,
        Evidence.PACKAGE,
        "the wheel's list of operators with a kernel",
        (),
        (),
        _documentation,
    )
)


@cache
def _words() -> tuple[bytes, ...]:
    return tuple(sorted({row.name.rpartition(".")[2].encode() for row in stand_ins()}))


def may_concern(raw: bytes) -> bool:
    """Whether a file may use anything for which there is a stand-in."""
    return b"torch" in raw and any(word in raw for word in _words())


def stand_in_findings(relative: str, raw: bytes, release: ReleaseTable, project: ProjectIndex) -> list[Finding]:
    """The uses of a file that take stand-ins, and the import that they need."""
    rows = needed(release)
    if not rows or not may_concern(raw):
        return []
    source = PythonSource(relative, module_name(relative), raw, reexport=project.reexport)
    nodes: list[ast.expr] = []

    def keep(node: ast.AST) -> None:
        if isinstance(node, (ast.Attribute, ast.Name)):
            nodes.append(node)

    source.visit(range(1, len(source.text.line_starts) + 1), keep)
    found = []
    is_used = False
    for node in nodes:
        is_used = is_used or (isinstance(node, ast.Name) and node.id == STAND_INS)
        row = rows.get(source.qualname(node) or "")
        if row is None or not isinstance(getattr(node, "ctx", None), ast.Load):
            continue
        parent = source.parent(node)
        if isinstance(parent, ast.Attribute) and rows.get(source.qualname(parent) or "") is row:
            continue
        found.append(_finding(node, row, release, source))
    if found or is_used:
        full = import_of(STAND_INS, home_of(relative, project), project, source)
        found += import_finding(source, RULE, STAND_INS, "", full)
    return found


def _finding(node: ast.expr, row: StandIn, release: ReleaseTable, source: PythonSource) -> Finding:
    start, end = source.start(node), source.end(node)
    rest = (source.qualname(node) or row.name)[len(row.name) :]
    return span_finding(
        RULE,
        source,
        (start, end),
        phrase(
            "torch_npu {torch_npu} lists no kernel for {operators}: a stand-in replaces it",
            torch_npu=release.torch_npu,
            operators=row.operators[0],
        ),
        subject=row.name,
        edits=(Edit(start, end, source.segment(start, end), f"{STAND_INS}.{row.stand_in}{rest}"),),
    )
