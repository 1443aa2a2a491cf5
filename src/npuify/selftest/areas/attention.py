"""Fused attention, as rules write it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence
from npuify.selftest.checks import Check
from npuify.selftest.inside.questions.attention import FORMS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.release.table import ReleaseTable


def checks(table: ReleaseTable) -> Iterator[Check]:
    """A check for each layout and mask that rules write, in both half types."""
    for form in FORMS:
        if not form.startswith("sdpa") and "npu_fusion_attention" not in table.custom_operators:
            continue
        for dtype in ("float16", "bfloat16"):
            yield Check(
                id=f"attention/{form} {dtype}",
                claim=phrase(
                    "fused attention ({form}, {dtype}) gives the CPU's result and gradients", form=form, dtype=dtype
                ),
                subject="torch_npu.npu_fusion_attention",
                evidence=Evidence.DOCUMENTED,
                source="Ascend/op-plugin",
                function="attention:disagreement",
                arguments={"form": form, "dtype": dtype},
                expected="",
                seconds=120,
                quick=dtype == "float16",
            )
