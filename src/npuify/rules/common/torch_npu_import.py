"""Where a file imports torch_npu, or may."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile


_NOWHERE = ast.Pass()
"""Stands for: torch is not imported, and nothing but device strings was changed."""


def imports_torch_npu(tree: ast.Module, *, by_name: bool) -> bool:
    """Whether torch_npu is imported at module level, also in a ``try`` or ``if`` there.

    With ``by_name`` only an unconditional import that binds the name ``torch_npu`` counts.
    """
    if by_name:
        return any(
            isinstance(statement, ast.Import)
            and any(alias.asname is None and alias.name.split(".")[0] == "torch_npu" for alias in statement.names)
            for statement in tree.body
        )
    pending: list[tuple[ast.stmt, bool]] = [(statement, True) for statement in tree.body]
    while pending:
        statement, is_run = pending.pop()
        if isinstance(statement, ast.Import):
            if any(alias.name.split(".")[0] == "torch_npu" for alias in statement.names):
                return True
        elif isinstance(statement, ast.ImportFrom):
            if is_run and not statement.level and (statement.module or "").split(".")[0] == "torch_npu":
                return True
        elif isinstance(statement, (ast.If, ast.Try)):
            # A branch for an older torch takes single names: what the other branch needs is not imported by it.
            is_run = is_run and (isinstance(statement, ast.Try) or "npu" in ast.unparse(statement.test))
            pending += [(inner, is_run) for inner in statement.body + statement.orelse]
    return False


def can_import_torch_npu(file: PythonFile) -> bool:
    """Whether code that says ``torch_npu.…`` may be written: the name is bound, or there is a place to import it."""
    tree = file.source.tree
    if imports_torch_npu(tree, by_name=True):
        return True
    if any(_imports_torch(node) for node in ast.walk(tree)):
        return _place_for_import(tree, file) is not None
    return any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in tree.body)


def _place_for_import(tree: ast.Module, file: PythonFile) -> ast.stmt | None:
    """The statement after which to import.

    The first module-level import of torch itself; else the one in a module-level ``try``; else, where torch is imported
    nowhere but its objects are used, the last import at the top. None where torch is only imported inside functions or
    conditions.
    """
    for statement in tree.body:
        if _imports_torch(statement):
            return statement
    for statement in tree.body:
        if isinstance(statement, ast.Try):
            for inner in statement.body:
                if _imports_torch(inner):
                    return inner
    if any(_imports_torch(node) for node in ast.walk(tree)):
        return None
    if b".npu" not in file.source.data and b"is_npu" not in file.source.data:
        return _NOWHERE
    imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    return imports[-1] if imports else _NOWHERE


def _imports_torch(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name.split(".")[0] == "torch" for alias in node.names)
    return isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == "torch"
