"""What is built at run time where ``--replace-kernels`` puts a module in its place: then the build stops nothing."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

import msgspec

from npuify.analysis.project import module_name
from npuify.model import Severity
from npuify.rules.packages.extensions.replacing import CODE
from npuify.source.python import PythonSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from npuify.model import Finding

_BUILT_AT_RUN_TIME: Final = "NPU632"


def beside_replaced(
    relative: str, raw: bytes, found: Sequence[Finding], replaced: Sequence[Finding], *, portable: bool
) -> list[Finding]:
    """The findings of a file as they are once its extensions are replaced.

    A build that is replaced has no other finding, or a note where CUDA still comes to it; so has one that only runs
    where an import fails which is replaced.

    Args:
        relative: the file's path.
        raw: its bytes.
        found: what the rules found in it.
        replaced: what is put in the place of its extensions.
        portable: the extension stays where it is built.
    """
    places = {(one.start, one.end) for one in replaced if one.code == CODE}
    if not places or not any(one.code == _BUILT_AT_RUN_TIME for one in found):
        return list(found)
    lines = _lines_behind(relative, raw, {start.line for start, _ in places})
    kept: list[Finding] = []
    for one in found:
        if one.code == _BUILT_AT_RUN_TIME:
            is_replaced = (one.start, one.end) in places
            if is_replaced and not portable:
                continue
            if is_replaced or one.start.line in lines:
                one = msgspec.structs.replace(one, severity=Severity.INFO)
        kept.append(one)
    return kept


def _lines_behind(relative: str, raw: bytes, replaced: set[int]) -> set[int]:
    """The lines that are reached only where an import on a line of ``replaced`` fails."""
    behind: set[int] = set()
    for node in ast.walk(PythonSource(relative, module_name(relative), raw).tree):
        if isinstance(node, ast.Try) and any(
            isinstance(one, (ast.Import, ast.ImportFrom)) and one.lineno in replaced
            for statement in node.body
            for one in ast.walk(statement)
        ):
            for part in node.handlers:
                behind.update(range(part.lineno, (part.end_lineno or part.lineno) + 1))
    return behind
