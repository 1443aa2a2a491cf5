"""Operators whose results depend on the kind of Ascend chip."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.chip import _GATES, _OLDER, _once
from npuify.rules.common.paddle import is_of_paddle
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


_OF_SOMETHING_ELSE = re.compile(rb"(?![^()]*(?:loss|grad))[^()\"']*\)")
"""What is asked where no loss and no gradient is: plain names and indices only."""


_QUESTIONS = frozenset(
    ("torch.isnan", "torch.isinf", "torch.isfinite", "math.isnan", "math.isinf", "math.isfinite", "numpy.isnan")
)


@rule(
    "NPU419",
    "overflow-saturates",
    Safety.MANUAL,
    Severity.INFO,
    words=("isnan(", "isinf(", "isfinite("),
    skip_if=lambda lower, start, end: _OF_SOMETHING_ELSE.match(lower, end) is not None,
    common_words=True,
    applies_to_chip=lambda product: product is None or not product.inf_nan,
    evidence=Evidence.DOCUMENTED,
    source=_GATES,
)
def overflow_saturates(node: ast.Call, file: PythonFile) -> Iterator[Diagnostic]:
    """A loss or gradient is checked for Inf or NaN, which an overflow does not produce on every chip.

    On the first-generation 910 and the 310P, numbers that overflow saturate at the largest value. torch_npu's
    GradScaler reads the chip's overflow flag instead. Reported once per file.
    """
    product = file.product
    name = file.qualname(node.func) or ""
    if name not in _QUESTIONS or not node.args:
        return
    asked = file.code(node.args[0]).lower()
    if not any(word in asked for word in ("loss", "grad")) or is_of_paddle(file) or not _once("NPU419", file):
        return
    who = product.title if product is not None else _OLDER
    yield file.report(
        node,
        phrase(
            "{name} does not see an overflow on {who}: numbers saturate there instead of becoming Inf or NaN",
            name=name,
            who=who,
        ),
        severity=Severity.WARNING if product is not None else Severity.INFO,
        subject=name,
        advice="leave it to torch.npu.amp.GradScaler, or use torch_npu.npu.utils.npu_check_overflow(tensor)",
    )
