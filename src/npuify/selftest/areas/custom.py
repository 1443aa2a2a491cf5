"""torch_npu's own operators: what they compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence
from npuify.selftest.checks import Check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.release.table import ReleaseTable


def checks(table: ReleaseTable) -> Iterator[Check]:
    """A check for each operator of the release; those without sample arguments say so when they are asked."""
    for operator in sorted(table.custom_operators):
        if operator.startswith("_") or "backward" in operator or operator.endswith("_grad"):
            continue
        yield Check(
            id=f"custom/{operator}",
            claim=phrase("torch_npu.{operator} computes what the simulated NPU computes", operator=operator),
            subject=f"torch_npu.{operator}",
            evidence=Evidence.DOCUMENTED,
            source="Ascend/op-plugin",
            function="custom:disagreements",
            arguments={"operator": operator},
            expected={},
            seconds=120,
            quick=operator in ("npu_rms_norm", "npu_swiglu", "npu_rotary_mul"),
        )
