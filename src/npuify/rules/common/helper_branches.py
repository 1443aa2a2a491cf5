"""Branches by the kind of the portable helper's device: which side runs on an NPU."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npuify.rules.context import PythonFile
if TYPE_CHECKING:
    from npuify.rules.context import PythonFile


def never_on_npu(node: ast.AST, file: PythonFile) -> bool:
    """Whether ``node`` runs only where the helper module says that the device is no NPU.

    Such is the other side of ``compute_device.type == "npu"``, which a migration wrote, or a person who followed it.
    """
    return _side(node, file) is False


def only_on_npu(node: ast.AST, file: PythonFile) -> bool:
    """Whether ``node`` runs only where the helper module says that the device is an NPU."""
    return _side(node, file) is True


def _side(node: ast.AST, file: PythonFile) -> bool | None:
    """Whether the innermost test of the helper's type around ``node`` lets it run on an NPU; None without a test."""
    if not file.contains(f"{helper(file)}.type".encode()):
        return None
    current = node
    for up in file.ancestors(node):
        if isinstance(up, (ast.If, ast.IfExp)) and current is not up.test:
            on_npu = asks_for_npu(up.test, file)
            if on_npu is not None:
                taken = current is up.body if isinstance(up, ast.IfExp) else current in up.body
                return taken is on_npu
        current = up
    return None


def asks_for_npu(test: ast.expr, file: PythonFile) -> bool | None:
    """Whether a test of the helper's type is true on an NPU; None for any other test."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.comparators[0], ast.Constant):
        return None
    value, kind = test.left, test.comparators[0].value
    named = isinstance(value, ast.Attribute) and value.attr == "type" and isinstance(value.value, ast.Name)
    if not named or file.code(value) != f"{helper(file)}.type" or kind not in ("npu", "cuda"):
        return None
    if isinstance(test.ops[0], ast.Eq):
        return bool(kind == "npu")
    return bool(kind != "npu") if isinstance(test.ops[0], ast.NotEq) else None


def helper(file: PythonFile) -> str:
    """The name by which code of a file says the helper module."""
    return file.plan.helper
