"""Small questions about calls."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile


def imports_torch(file: PythonFile) -> bool:
    """Whether the file's text imports torch; other libraries use the same words."""
    data = file.source.data
    return b"import torch" in data or b"from torch" in data


def keyword_of(call: ast.Call, name: str) -> ast.expr | None:
    """The value of a keyword argument, or None."""
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    """The argument that a call passes at ``position`` (from 0) or as ``name=``; None where it passes none."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if position < len(call.args) and not any(isinstance(arg, ast.Starred) for arg in call.args[: position + 1]):
        return call.args[position]
    return None
