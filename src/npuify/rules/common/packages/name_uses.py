"""Where a file uses a name that an import binds."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile
    from npuify.source.python.scopes import Scope


class Use(NamedTuple):
    """One place where a bound name is used: ``node`` is the whole chain, ``name`` what it denotes."""

    node: ast.expr
    name: str
    call: ast.Call | None
    """The call whose function it is."""


def uses_of(name: str, target: str, scope: Scope, file: PythonFile) -> list[Use]:
    """The places that read ``name``, where ``scope`` binds it.

    Args:
        name: as the file calls it.
        target: what it denotes, a qualified name.
        scope: the one with the import.
        file: the file.
    """
    found = []
    for node in file.nodes_on_lines_with(name):
        if not isinstance(node, ast.Name) or node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        owner = file.scope(node).lookup(name)
        if owner is None or owner[0] is not scope:
            continue
        chain: ast.expr = node
        denoted = target
        parent = file.parent(chain)
        while isinstance(parent, ast.Attribute):
            chain, denoted = parent, f"{denoted}.{parent.attr}"
            parent = file.parent(chain)
        call = parent if isinstance(parent, ast.Call) and parent.func is chain else None
        found.append(Use(chain, denoted, call))
    return found
