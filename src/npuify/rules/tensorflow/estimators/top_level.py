"""What a name at the top of a module is bound to, here or in another module of the project."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile
    from npuify.source.python import PythonSource
    from npuify.source.python.scopes import Binding


def top_level(target: ast.Name | ast.Attribute, file: PythonFile) -> tuple[PythonSource, ast.AST] | None:
    """The only thing that a name at the top of a module is bound to."""
    if isinstance(target, ast.Name):
        # What is skipped of a file is parsed when it is asked about.
        file.source.visit(file.source.lines_with_names((target.id,)), lambda _: None)
        own = file.source.scope.names.get(target.id, [])
        found = file.scope(target).lookup(target.id)
        if found is not None and found[0] is file.source.scope and len(own) == 1 and own[0].kind != "import":
            return file.source, _whole(own[0], file.source)
    imported = imported_as(target, file.source) or ""
    there = file.project.binding(imported)
    if there is None:
        return None
    source, name = there[0], imported.rpartition(".")[2]
    source.visit(source.lines_with_names((name,)), lambda _: None)
    bindings = source.scope.names.get(name, [])
    return (source, _whole(bindings[0], source)) if len(bindings) == 1 else None


def _whole(binding: Binding, source: PythonSource) -> ast.AST:
    """What a name is bound to, with the parents and scopes of all that is in it."""
    bound: ast.AST = binding.value or binding.node
    first = getattr(bound, "lineno", 1)
    source.visit(range(first, (getattr(bound, "end_lineno", None) or first) + 1), lambda _: None)
    return bound


def imported_as(target: ast.Name | ast.Attribute, source: PythonSource) -> str | None:
    """The dotted name under which another module has what a name stands for, as the import says it."""
    parts: list[str] = []
    base: ast.expr = target
    while isinstance(base, ast.Attribute):
        parts.append(base.attr)
        base = base.value
    if not isinstance(base, ast.Name):
        return None
    found = source.scope_of(base).lookup(base.id)
    bindings = found[1] if found is not None else []
    if len(bindings) != 1 or bindings[0].kind != "import":
        return None
    return ".".join([bindings[0].target, *reversed(parts)])
