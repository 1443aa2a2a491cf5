"""Which construct binds a target, and which part of what stands there it gets. Syntax only: nothing is followed."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from npuify.analysis.files import FileModel
    from npuify.source.python.scopes import Binding

How = Literal["value", "element", "entered", "added", "declared", "other"]


class Bound(NamedTuple):
    """What a target is bound to.

    ``how`` is ``value`` (of ``source``), ``element`` (of what a loop goes through), ``entered`` (by ``with``),
    ``added`` (by ``+=``), ``declared`` (``source`` is an annotation) or ``other``. ``path`` leads from there to the
    part that the target gets; None in it stands for any part.
    """

    how: How
    node: ast.AST
    source: ast.expr | None = None
    path: tuple[int | None, ...] = ()


def bound_to(target: ast.AST, file: FileModel) -> Bound:
    """What an assignment, loop or ``with`` binds to the target that it holds."""
    path: tuple[int | None, ...] = ()
    child, parent = target, file.parent(target)
    while isinstance(parent, (ast.Tuple, ast.List, ast.Starred)):
        if isinstance(parent, ast.Starred):
            path = (None, *path)
        else:
            starred = any(isinstance(element, ast.Starred) for element in parent.elts)
            if not isinstance(child, ast.Starred):
                path = (None if starred else parent.elts.index(child), *path)  # type: ignore[arg-type]
        child, parent = parent, file.parent(parent)
    if isinstance(parent, (ast.Assign, ast.NamedExpr)):
        return _taken_apart(Bound("value", parent, parent.value, path))
    if isinstance(parent, ast.AnnAssign):
        if parent.value is None:
            return Bound("declared", parent, parent.annotation)
        return Bound("value", parent, parent.value, path)
    if isinstance(parent, (ast.For, ast.AsyncFor, ast.comprehension)):
        return Bound("element", parent, parent.iter, path)
    if isinstance(parent, ast.withitem):
        return Bound("entered", parent, parent.context_expr, path)
    if isinstance(parent, ast.AugAssign):
        return Bound("added", parent, parent.value)
    return Bound("other", target)


def _taken_apart(bound: Bound) -> Bound:
    """Where a tuple is assigned to a tuple, the part that belongs to the target."""
    source, path = bound.source, bound.path
    while path and path[0] is not None and isinstance(source, (ast.Tuple, ast.List)):
        if path[0] >= len(source.elts) or any(isinstance(item, ast.Starred) for item in source.elts):
            break
        source, path = source.elts[path[0]], path[1:]
    return bound._replace(source=source, path=path)


def bound_by(binding: Binding, file: FileModel) -> Bound | None:
    """How a binding binds; None for imports, parameters, functions and classes."""
    node = binding.node
    if binding.kind in ("import", "function", "class", "parameter"):
        return None
    if binding.kind == "assign" and binding.value is not None:
        return Bound("value", node, binding.value)
    if binding.kind == "loop" and binding.value is not None:
        return Bound("element", node, binding.value)
    if isinstance(node, ast.AugAssign):
        return Bound("added", node, node.value)
    if isinstance(node, ast.AnnAssign):
        return Bound("declared", node, node.annotation)
    return bound_to(node, file) if isinstance(node, ast.expr) else Bound("other", node)
