"""Numbers of 8 bits, which only the newest Ascend chips have."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.chip import _once
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic

_TYPES: Final = frozenset(f"torch.float8_{kind}" for kind in ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0fnu"))
_HAS: Final = frozenset(("950",))
"""Chips that have them, as ``npuify.knowledge.products()`` calls them."""
_MAKING: Final = frozenset(("to", "type", "full", "empty", "zeros", "ones", "tensor", "randn", "rand", "as_tensor"))
"""Functions and methods that make numbers of the type that they are given."""


@rule(
    "NPU675",
    "float8-needs-newest-chip",
    Safety.MANUAL,
    Severity.WARNING,
    words=tuple(name.removeprefix("torch.") for name in sorted(_TYPES)),
    names=("torch.float8_",),
    common_words=True,
    applies_to_chip=lambda product: product is None or product.name not in _HAS,
    evidence=Evidence.DOCUMENTED,
    source="CANN's documentation of Cast: FLOAT8_E5M2 and FLOAT8_E4M3FN on Ascend 950 alone, not on Atlas A2 and A3; "
    "jd-opensource/xllm#1427 and vllm-project/vllm-ascend#8102 have the error",
)
def float8_needs_newest_chip(node: ast.Attribute, file: PythonFile) -> Iterator[Diagnostic]:
    """Tensors of 8-bit floats are made, which an Ascend 910B or 910C does not have: the conversion raises.

    Only an Ascend 950 has them. Told once a file, where a tensor is made or converted: comparisons and tables of types
    compute nothing.
    """
    name = file.qualname(node) or ""
    if name not in _TYPES or not _is_made(node, file) or not _once("NPU675", file):
        return
    product = file.product
    yield file.report(
        node,
        phrase("{title} has no {name}", title=product.title, name=name)
        if product is not None
        else phrase("only an Ascend 950 has {name}; on a 910B or 910C this raises", name=name),
        severity=Severity.ERROR if product is not None else Severity.WARNING,
        subject=name,
        advice="keep bfloat16 on other chips",
    )


def _is_made(node: ast.Attribute, file: PythonFile) -> bool:
    parent = file.parent(node)
    call = file.parent(parent) if isinstance(parent, ast.keyword) and parent.arg == "dtype" else parent
    if not isinstance(call, ast.Call) or call.func is node:
        return False
    word = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return word.removesuffix("_like") in _MAKING
