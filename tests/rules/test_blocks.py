"""Places in blocks of statements, and that very long blocks take no longer for each statement."""

from __future__ import annotations

import ast
from typing import Any

from npuify.rules.common.blocks import first_in_block, ifs_before, place_in_block


class Memory:
    """What these functions use of a file."""

    def __init__(self) -> None:
        self.known: dict[Any, Any] = {}

    def recall(self, key: Any) -> Any:
        return self.known.get(key)

    def remember(self, key: Any, value: Any) -> Any:
        self.known[key] = value
        return value


TEXT = "if a:\n    x\nfor i in j:\n    y\n    if b: z\n    w\nelse:\n    v\nreturned\n"


def parsed() -> tuple[ast.Module, Any]:
    return ast.parse(TEXT), Memory()


def test_places() -> None:
    tree, file = parsed()
    loop = tree.body[1]
    assert isinstance(loop, ast.For)
    assert place_in_block(loop, tree, file) == (tree.body, 1)
    assert place_in_block(loop.orelse[0], loop, file) == (loop.orelse, 0)
    assert place_in_block(loop.body[0], tree, file) is None


def test_statements_that_are_parsed_later_are_found() -> None:
    tree, file = parsed()
    assert place_in_block(tree.body[2], tree, file) == (tree.body, 2)
    tree.body.insert(0, ast.Pass())
    assert place_in_block(tree.body[3], tree, file) == (tree.body, 3)
    assert ifs_before(tree.body[3], tree, file) == [tree.body[1]]


def test_conditions_before() -> None:
    tree, file = parsed()
    loop = tree.body[1]
    assert isinstance(loop, ast.For)
    assert ifs_before(tree.body[0], tree, file) == []
    assert ifs_before(tree.body[2], tree, file) == [tree.body[0]]
    assert ifs_before(loop.body[2], loop, file) == [loop.body[1]]


def test_the_first_that_matters_is_sought_once() -> None:
    tree, file = parsed()
    asked: list[ast.stmt] = []

    def matters(one: ast.stmt) -> bool:
        asked.append(one)
        return isinstance(one, ast.For)

    assert first_in_block(tree.body[1], tree, file, "loop", matters) is None
    assert first_in_block(tree.body[2], tree, file, "loop", matters) is tree.body[1]
    assert first_in_block(tree.body[2], tree, file, "loop", matters) is tree.body[1]
    assert asked == tree.body[:2]
    # What stands behind the first one does not change what was before.
    assert first_in_block(tree.body[0], tree, file, "loop", matters) is None
