"""Blocks of statements: where one stands in them, and which before it matter; also where they are very long."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from npuify.rules.context import PythonFile

_BLOCKS = ("body", "orelse", "finalbody")


def place_in_block(node: ast.AST, up: ast.AST, file: PythonFile) -> tuple[list[ast.stmt], int] | None:
    """The block in which a statement stands, and how many stand before it; None where it is in none.

    Args:
        node: the statement.
        up: what it stands in.
        file: the file of both.
    """
    key = ("places_in_blocks", up)
    for places in (file.recall(key), None):
        if places is None:
            # What was passed over at first may have been parsed since.
            places = file.remember(key, _places(up))
        name, at = places.get(id(node), ("", 0))
        block: list[ast.stmt] = getattr(up, name, None) or []
        if at < len(block) and block[at] is node:
            return block, at
    return None


def _places(up: ast.AST) -> dict[int, tuple[str, int]]:
    return {
        id(one): (name, at)
        for name in _BLOCKS
        if isinstance(block := getattr(up, name, None), list)
        for at, one in enumerate(block)
    }


def ifs_before(node: ast.AST, up: ast.AST, file: PythonFile) -> list[ast.If]:
    """The conditions that stand before a statement in its block, in order; arguments as above."""
    found = place_in_block(node, up, file)
    if found is None:
        return []
    block, place = found
    key = ("ifs_of_block", up, len(block), id(block))
    known: list[tuple[int, ast.If]] | None = file.recall(key)
    if known is None:
        known = [(at, one) for at, one in enumerate(block) if isinstance(one, ast.If)]
        file.remember(key, known)
    return [one for at, one in known if at < place]


def first_in_block(
    node: ast.AST, up: ast.AST, file: PythonFile, kind: str, matters: Callable[[ast.stmt], bool]
) -> ast.stmt | None:
    """The first statement before another one in its block that matters.

    Args:
        node: the other one.
        up: what it stands in.
        file: the file of both.
        kind: tells this question from others.
        matters: whether a statement does; asked once for each.
    """
    found = place_in_block(node, up, file)
    if found is None:
        return None
    block, place = found
    key = ("first_in_block", kind, up, len(block), id(block))
    asked, first = file.recall(key) or (0, None)
    if first is None and asked < place:
        first = next((at for at in range(asked, place) if matters(block[at])), None)
        file.remember(key, (place, first))
    return block[first] if first is not None and first < place else None
