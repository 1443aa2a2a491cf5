"""Functions that TorchScript compiles: it knows neither ``Tensor.npu`` nor ``Tensor.is_npu``, but a device's type."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile

_COMPILES: Final = frozenset(("torch.jit.script", "torch.jit.script_method", "torch.jit.export"))


def in_script(node: ast.AST, file: PythonFile) -> bool:
    """Whether a place lies in a function that is decorated to be compiled, or that the file hands to the compiler.

    What such a function calls is compiled as well, and is not looked for. The names that TorchScript knows of tensors
    stand in torch/csrc/jit/frontend/sugared_value.cpp.
    """
    if not file.contains(b"jit"):
        return False
    for up in file.ancestors(node):
        if isinstance(up, (ast.FunctionDef, ast.AsyncFunctionDef)):
            marks = (one.func if isinstance(one, ast.Call) else one for one in up.decorator_list)
            if any(file.qualname(one) in _COMPILES for one in marks):
                return True
            handed = re.compile(rb"\bjit\.script\(\s*" + up.name.encode() + rb"\s*[,)]")
            if handed.search(file.source.data):
                return True
    return False
