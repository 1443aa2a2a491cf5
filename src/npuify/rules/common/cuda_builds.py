"""Functions of a file that build a CUDA extension."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile


_BUILDS_CUDA = re.compile(rb"\.cu[\"']|extra_cuda_cflags|cuda_sources")
"""What only code says that builds a CUDA extension when it runs."""


def opens_cuda_build(node: ast.AST, file: PythonFile) -> bool:
    """Whether a condition also calls a function of this file that builds a CUDA extension.

    ``x.device.type == "cuda" and _init()``: what follows are the extension's own kernels, and no NPU may go there.
    """
    test: ast.AST = node
    for up in file.ancestors(node):
        if isinstance(up, ast.BoolOp) and isinstance(up.op, ast.And):
            test = up
        elif not isinstance(up, (ast.Compare, ast.expr)):
            break
    if not isinstance(test, ast.BoolOp):
        return False
    called = [item.func.id for item in test.values if isinstance(item, ast.Call) and isinstance(item.func, ast.Name)]
    return any(_BUILDS_CUDA.search(_body_of(name, file.source.data)) is not None for name in called)


def _body_of(name: str, data: bytes) -> bytes:
    """The text of a function at the margin; parts of a file in which no rule looks have no tree."""
    found = re.search(rb"^def %b\(.*\n(?:[ \t].*\n|[ \t]*\r?\n)*" % re.escape(name.encode()), data, re.MULTILINE)
    return found[0] if found is not None else b""
