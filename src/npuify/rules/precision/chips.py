"""Precisions that depend on the kind of Ascend chip.

With ``--soc`` these rules speak of the chip that was named, and are silent where it has what the program asks for;
without it they say for information what the older chips lack.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.calls import imports_torch
from npuify.rules.common.chip import _GATES, _OLDER, _once
from npuify.rules.registry import rule
from npuify.rules.text_checks import compared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


_CHOICES = frozenset(("mixed_precision", "precision", "amp_dtype", "compute_dtype", "torch_dtype"))


_KEYWORD = re.compile(rb"\s*=[\s(]*true\b")


def _no_bfloat16_chosen(lower: bytes, start: int, end: int) -> bool:
    """Whether the text around a word says that nothing is computed in it; see ``npuify.rules.text_checks``."""
    before = lower[start - 1 : start]
    if before in (b'"', b"'"):
        return False
    if end - start == len(b"bf16"):
        return _KEYWORD.match(lower, end) is None
    return before != b"." or compared(lower, start, end)


@rule(
    "NPU216",
    "bfloat16-needs-newer-chip",
    Safety.MANUAL,
    Severity.INFO,
    words=("bfloat16", "bf16"),
    skip_if=_no_bfloat16_chosen,
    names=("torch.bfloat16",),
    common_words=True,
    applies_to_chip=lambda product: product is None or not product.bfloat16,
    evidence=Evidence.DOCUMENTED,
    source=_GATES,
)
def bfloat16_needs_newer_chip(
    node: ast.Attribute | ast.Constant | ast.keyword, file: PythonFile
) -> Iterator[Diagnostic]:
    """The program computes in bfloat16, which the first-generation 910 and the 310P do not support.

    Reported once per file. Without ``--soc``, only where a precision is chosen: autocast, ``bf16=True``,
    ``mixed_precision="bf16"``.
    """
    product = file.product
    if not _is_bfloat16(node, file, everywhere=product is not None) or file.contains(b"is_bf16_supported"):
        return
    if not _once("NPU216", file):
        return
    yield file.report(
        node.value if isinstance(node, ast.keyword) else node,
        phrase("{title} has no bfloat16", title=product.title)
        if product is not None
        else phrase("{OLDER} have no bfloat16; newer chips have it", OLDER=_OLDER),
        severity=Severity.ERROR if product is not None else Severity.INFO,
        subject="torch.bfloat16",
        advice="use float16 with a GradScaler there, or choose by torch.npu.is_bf16_supported()",
    )


def _is_bfloat16(node: ast.Attribute | ast.Constant | ast.keyword, file: PythonFile, *, everywhere: bool) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg == "bf16" and isinstance(node.value, ast.Constant) and node.value.value is True
    if isinstance(node, ast.Constant):
        around = file.parent(node)
        return (
            node.value in ("bf16", "bf16-mixed", "bf16-true", "bfloat16")
            and isinstance(around, ast.keyword)
            and around.arg in _CHOICES
        )
    if file.qualname(node) != "torch.bfloat16":
        return False
    for up in file.ancestors(node):
        if isinstance(up, (ast.Compare, ast.Dict, ast.List, ast.Tuple, ast.Set, ast.arguments, ast.IfExp)):
            return False
        if isinstance(up, ast.Call):
            name = file.qualname(up.func) or file.code(up.func)
            return everywhere or name.endswith(("autocast", "MixedPrecision", "MixedPrecisionPolicy"))
        if isinstance(up, ast.stmt):
            break
    return everywhere


_MIXED = re.compile(
    rb"autocast|gradscaler|apex|\bamp\b|fp16|float16|bf16|half\(|precision|deepspeed|accelerat|lightning", re.IGNORECASE
)


@rule(
    "NPU217",
    "float32-training-on-910",
    Safety.MANUAL,
    Severity.INFO,
    words=(".backward()",),
    also_in_file=(".step(",),
    common_words=True,
    applies_to_chip=lambda product: product is None or product.name == "910",
    evidence=Evidence.DOCUMENTED,
    source="Ascend's migration guide: training on the first-generation 910 needs mixed precision",
)
def float32_training_on_910(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """The training loop runs in float32, but the matrix unit of the first-generation 910 computes in float16.

    Reported once per file, if nothing in it mentions mixed precision.
    """
    product = file.product
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "backward" or node.args or not imports_torch(file):
        return
    loop = next((up for up in file.ancestors(node) if isinstance(up, (ast.For, ast.While))), None)
    if loop is None or not any(isinstance(item, ast.Attribute) and item.attr == "step" for item in ast.walk(loop)):
        return
    if _MIXED.search(file.source.data) or not _once("NPU217", file):
        return
    yield file.report(
        node,
        "training runs in float32; the matrix unit of the first-generation 910 takes float16, so mixed precision is "
        "needed there",
        severity=Severity.WARNING if product is not None else Severity.INFO,
        subject="torch.npu.amp.autocast",
        advice="run the forward pass under torch.npu.amp.autocast() and scale the loss with torch.npu.amp.GradScaler()",
    )
