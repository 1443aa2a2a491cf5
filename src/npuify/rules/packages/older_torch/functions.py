"""Functions of autograd in the form that they had before PyTorch 0.4."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_FUNCTIONS: Final = frozenset(
    f"torch.autograd.{name}"
    for name in ("Function", "function.Function", "function.InplaceFunction", "function.NestedIOFunction")
)
_STATIC: Final = frozenset(("staticmethod", "classmethod", "once_differentiable"))


def _of_another_class(lower: bytes, start: int, end: int) -> bool:
    """Whether a ``forward`` stands in a class that is no function of autograd; see ``npuify.rules.text_checks``."""
    if lower[start:end] == b"function)":
        return False
    opened = lower.rfind(b"class ", 0, start)
    return opened < 0 or b"function" not in lower[opened : lower.find(b":", opened)]


@rule(
    "NPU681",
    "legacy-autograd-function",
    Safety.MANUAL,
    Severity.ERROR,
    words=("function)", "def forward(self"),
    skip_if=_of_another_class,
    evidence=Evidence.PACKAGE,
    source="torch/autograd/function.py of torch 2.6 to 2.14: legacy autograd function with non-static forward",
)
def legacy_autograd_function(node: ast.ClassDef, file: PythonFile) -> Iterator[Diagnostic]:
    """A function of autograd whose ``forward`` is no static method raises RuntimeError when it is called, since 1.5.

    An error where the file makes an instance of it, else a note. What it keeps in itself belongs on ``ctx``, and
    ``Double.apply(x)`` calls it.
    """
    if not any(file.qualname(base) in _FUNCTIONS for base in node.bases):
        return
    forward = next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "forward"), None)
    if forward is None or any(_last(one) in _STATIC for one in forward.decorator_list):
        return
    made = any(
        isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == node.name
        for call in file.nodes_on_lines_with(f"{node.name}(")
    )
    if not made and any(
        isinstance(one, ast.Attribute) and one.attr == "apply" and _last(one.value) == node.name
        for one in file.nodes_on_lines_with(f"{node.name}.apply")
    ):
        made = True
    yield file.report(
        node,
        phrase("{name} has no static forward, and raises RuntimeError when it is called", name=node.name),
        severity=Severity.ERROR if made else Severity.INFO,
        subject="torch.autograd.Function",
        advice=phrase(
            "write forward(ctx, …) and backward(ctx, …) as static methods, and call {name}.apply(…)", name=node.name
        ),
    )


def _last(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
