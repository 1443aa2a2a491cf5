"""The child nodes of a node, and the scope that each is evaluated in."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.source.python.scopes import ComprehensionNode, FunctionNode

if TYPE_CHECKING:
    from npuify.source.python.scopes import Scope

_NO_CHILDREN = frozenset(
    "ctx op ops id attr arg kind name asname type_comment level module simple is_async conversion rest kwd_attrs "
    "type_ignores str tag".split()
)
"""Fields that hold names, contexts, operators and numbers, of which no rule needs to know."""
_CHILDLESS = (ast.Constant, ast.Global, ast.Nonlocal, ast.MatchSingleton)
"""Nodes whose other fields hold no nodes either."""


class ChildFields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of each kind of node that hold nodes, or lists of nodes."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        fields = () if kind in _CHILDLESS else tuple(name for name in kind._fields if name not in _NO_CHILDREN)
        self[kind] = fields
        return fields


CHILD_FIELDS = ChildFields()


def plain_children(node: ast.AST, fields: tuple[str, ...]) -> list[ast.AST]:
    """The nodes that these fields of a node hold."""
    children: list[ast.AST] = []
    held = node.__dict__
    for name in fields:
        value = held.get(name)
        if value is None:
            continue
        if value.__class__ is list:
            # The keys of {**other} and defaults that are not there are None.
            children += value if None not in value else [item for item in value if item is not None]
        else:
            children.append(value)
    return children


def walk(node: ast.AST) -> list[ast.AST]:
    """A node and all that it holds, in the order of :func:`ast.walk` and at a third of its cost.

    Contexts, operators and names, which :data:`CHILD_FIELDS` leaves out, are left out here as well.
    """
    found = [node]
    fields_of = CHILD_FIELDS
    for item in found:
        fields = fields_of[item.__class__]
        if fields:
            found += plain_children(item, fields)
    return found


def scoped_children(node: ast.AST, outer: Scope, inner: Scope) -> list[tuple[ast.AST, Scope]]:
    """The child nodes with the scope that each is evaluated in."""
    kind = type(node)
    fields = CHILD_FIELDS[kind]
    if outer is inner:
        around = outer.node
        if kind is ast.comprehension and isinstance(around, ComprehensionNode) and around.generators[0] is node:
            # The first iterable is evaluated outside the comprehension.
            rest = plain_children(node, tuple(name for name in fields if name != "iter"))
            return [(node.iter, outer.parent or outer), *((child, inner) for child in rest)]
        return [(child, inner) for child in plain_children(node, fields)]
    if isinstance(node, FunctionNode):
        outside: set[int] = {id(item) for item in getattr(node, "decorator_list", ())}
        returns = getattr(node, "returns", None)
        if returns is not None:
            outside.add(id(returns))
        # Annotations and defaults are evaluated outside; inside the `arguments` node they cannot be told apart by
        # field, so the node itself counts as outside and its `arg` children hold no names of their own.
        outside.add(id(node.args))
    elif isinstance(node, ComprehensionNode):
        outside = {id(node.generators[0].iter)}
    else:
        outside = {id(item) for item in (*node.decorator_list, *node.bases, *node.keywords)}  # type: ignore[attr-defined]
    return [(child, outer if id(child) in outside else inner) for child in plain_children(node, fields)]
