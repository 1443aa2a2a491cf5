"""Arguments of Lightning's Trainer and Fabric."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile


_LIGHTNING = ("pytorch_lightning", "lightning", "lightning_fabric")


def _call_of(keyword: ast.keyword, file: PythonFile) -> ast.Call | None:
    """The call that an argument belongs to."""
    parent = file.parent(keyword)
    return parent if isinstance(parent, ast.Call) else None


def _own(packages: tuple[str, ...], file: PythonFile) -> bool:
    """Whether the project is one of these packages itself."""
    return any(package in file.project.packages or package in file.project.modules for package in packages)


def asked_of_lightning(node: ast.AST | None, file: PythonFile) -> str:
    """The name of Lightning's class that gets ``accelerator=`` or ``gpus=``; empty for any other argument."""
    while isinstance(node, ast.IfExp):
        node = file.parent(node)
    if not isinstance(node, ast.keyword) or node.arg not in ("accelerator", "gpus") or not file.contains(b"lightning"):
        return ""
    call = _call_of(node, file)
    return lightning_class(call, file) if call is not None else ""


def lightning_class(call: ast.Call, file: PythonFile) -> str:
    """The name of Lightning's class that a call makes an object of: its Trainer or Fabric; empty for any other."""
    name = file.qualname(call.func) or ""
    if name.partition(".")[0] not in _LIGHTNING or name.rpartition(".")[2] not in ("Trainer", "Fabric"):
        return ""
    return "" if _own(_LIGHTNING, file) else name
