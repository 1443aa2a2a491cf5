"""Where the name of an attribute ends inside an f-string, of whose parts older Pythons give no certain positions."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.source.python.names import dotted_text

if TYPE_CHECKING:
    from collections.abc import Iterable


def attribute_end(node: ast.Attribute, literal: ast.JoinedStr, text: bytes) -> int | None:
    """Where an attribute ends in the source of the f-string around it; None where that cannot be told.

    Args:
        node: the attribute.
        literal: the outermost f-string around it.
        text: its source.
    """
    fields = _replacement_fields(text)
    word = re.compile(rb"\.[ \t]*" + re.escape(node.attr.encode()) + rb"(?!\w)")
    places = [match.end() for match in word.finditer(text) if fields[match.start()]]
    namesakes = [other for other in _attributes_in_order(literal) if other.attr == node.attr]
    if len(places) == len(namesakes):
        return places[next(index for index, other in enumerate(namesakes) if other is node)]
    dotted = dotted_text(node)
    if dotted is None:
        return None
    pattern = re.compile(rb"(?<![\w.])" + re.escape(dotted.encode()) + rb"(?!\w)")
    found = [match for match in pattern.finditer(text) if fields[match.start()]]
    same = sorted(
        (other for other in ast.walk(literal) if isinstance(other, ast.Attribute) and dotted_text(other) == dotted),
        key=lambda other: (other.lineno, other.col_offset),
    )
    if len(found) != len(same):
        return None
    return found[next(index for index, other in enumerate(same) if other is node)].end()


def _attributes_in_order(node: ast.AST) -> list[ast.Attribute]:
    """The attributes in an expression, in the order in which their names stand in the text."""
    if isinstance(node, ast.IfExp):
        children: Iterable[ast.AST] = (node.body, node.test, node.orelse)
    elif isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        children = [child for pair in pairs for child in pair if child is not None]
    else:
        children = ast.iter_child_nodes(node)
    found = [attribute for child in children for attribute in _attributes_in_order(child)]
    return [*found, node] if isinstance(node, ast.Attribute) else found


def _replacement_fields(literal: bytes) -> list[bool]:
    """For each byte of an f-string's source, whether it stands inside braces."""
    inside, depth, index = [False] * len(literal), 0, 0
    while index < len(literal):
        byte = literal[index : index + 1]
        if byte == b"{" and depth == 0 and literal[index + 1 : index + 2] == b"{":
            index += 2
            continue
        if byte == b"{":
            depth += 1
        elif byte == b"}" and depth:
            depth -= 1
        inside[index] = depth > 0
        index += 1
    return inside
