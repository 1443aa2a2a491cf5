"""Edits that turn one dotted name into another, in code and in string literals."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.source.python import dotted_text

if TYPE_CHECKING:
    from npuify.model import Edit
    from npuify.rules.context import PythonFile


def rename_chain(node: ast.Attribute | ast.Name, name: str, target: str, file: PythonFile) -> list[Edit] | None:
    """Edits that turn the source of ``node``, which denotes ``name``, into ``target``.

    Only the parts that differ are touched, so that aliases stay. None where it cannot be done in place; an empty list
    where nothing has to change (the alias's import changes instead).
    """
    old, new = name.split("."), target.split(".")
    edits: list[Edit] = []
    current: ast.expr = node
    if len(old) != len(new):
        text = dotted_text(node)
        if text is None or not isinstance(node, ast.Attribute):
            return None
        root = current
        while isinstance(root, ast.Attribute):
            root = root.value
        if file.qualname(root) != "torch" or not isinstance(root, ast.Name):
            return None
        span = file.source.attribute_span(node)
        start = file.source.start(root)
        if span is not None and file.source.segment(start, span[1]) != text:
            start = file.source.start(node)  # (torch.cuda).OutOfMemoryError
        if span is None or file.source.segment(start, span[1]).count("\n"):
            return None
        return [file.edit(start, span[1], ".".join([root.id, *new[1:]]))]
    index = len(old) - 1
    while isinstance(current, ast.Attribute) and index >= 0:
        if current.attr != old[index]:
            # ``compat.gpu`` of the project's own: what it stands for changes where it is bound.
            return edits if file.qualname(current) == ".".join(old[: index + 1]) else None
        if old[index] != new[index]:
            if index and file.qualname(current.value) != ".".join(old[:index]):
                return edits  # ``compat.cuda``: the import in the project's own module keeps the name
            edit = file.rename_attribute(current, new[index])
            if edit is None:
                return None
            edits.append(edit)
        current = current.value
        index -= 1
    if isinstance(current, ast.Call):
        # getattr(torch, "cuda"): the literal is edited by its own rule.
        return edits
    return edits if isinstance(current, ast.Name) else None


def replace_in_literal(node: ast.Constant, old: str, new: str, file: PythonFile) -> Edit | None:
    """Replace ``old`` by ``new`` inside the source of a string literal, or None unless it stands there just once."""
    start, end = file.source.start(node), file.source.end(node)
    text = file.source.data[start:end]
    place = text.find(old.encode())
    if place < 0 or text.find(old.encode(), place + 1) >= 0:
        return None
    return file.edit(start + place, start + place + len(old.encode()), new)
