"""What rules about one kind of Ascend chip share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.analysis.project import is_test

if TYPE_CHECKING:
    from npuify.knowledge import Product
    from npuify.rules.context import PythonFile


_GATES = "torch_npu asks the chip: bfloat16 and fused attention from SoC 220 on, Inf and NaN on 220 to 225 and from 250"


_OLDER = "the first-generation 910 and the 310P"


def _once(code: str, file: PythonFile) -> bool:
    """Whether this is the first time that a rule asks for this file; tests matter only for a chip that was named."""
    if file.recall(code) or (file.product is None and is_test(file.source.relative)):
        return False
    file.remember(code, True)
    return True


def without_fused_attention(product: Product | None) -> bool:
    """Whether a chip was named, and one of the older ones, which have neither fused attention nor binary kernels."""
    return product is not None and not product.fused_attention
