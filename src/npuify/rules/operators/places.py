"""Where in a program an operator stands."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile


def in_module_class(node: ast.AST, file: PythonFile) -> bool:
    """Whether a place is in a class that has a ``forward``, so that it runs in the model's step."""
    return any(isinstance(up, ast.ClassDef) and file.source.has_method(up, "forward") for up in file.ancestors(node))
