"""Attention on chips without its fused kernels."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.chip import _once, without_fused_attention
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


@rule(
    "NPU509",
    "attention-without-fused-kernel",
    Safety.MANUAL,
    Severity.WARNING,
    words=("scaled_dot_product_attention",),
    names=("torch.nn.functional.scaled_dot_product_attention",),
    applies_to_chip=without_fused_attention,
    evidence=Evidence.DOCUMENTED,
    source="op-plugin: ScaledDotProductAttentionKernelNpuOpApi.cpp asks for SoC 220 or newer",
)
def attention_without_fused_kernel(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """On the target chip, scaled_dot_product_attention is computed operator by operator.

    Its memory use then grows with the square of the sequence length. Reported once per file, and only with ``--soc``.
    """
    product = file.product
    if product is None or not _once("NPU509", file):
        return
    yield file.report(
        node,
        phrase(
            "{title} has no fused attention: memory use grows with the square of the sequence length",
            title=product.title,
        ),
        subject="torch.nn.functional.scaled_dot_product_attention",
        advice="plan for shorter sequences or smaller batches, or process the queries in blocks",
    )
