"""torch_npu's own operators: what they compute.

Which of them have arguments is read from the text of the modules that hold these, since the Python that runs npuify
may have no torch.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Evidence
from npuify.selftest.checks import Check, Unchecked
from npuify.selftest.inside.samples.custom_samples import SAMPLES, why_not

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.release.table import ReleaseTable


_PACKAGE = Path(__file__).parents[2]


@cache
def _with_cases() -> frozenset[str]:
    found: set[str] = set()
    for path in (_PACKAGE / "selftest" / "inside" / "samples" / "custom_cases").glob("*.py"):
        found.update(re.findall(r'\bCase\(\s*"(\w+)', path.read_text(encoding="utf-8")))
    return frozenset(found)


@cache
def _simulated() -> frozenset[str]:
    found: set[str] = set()
    for path in (_PACKAGE / "simulator" / "operators").rglob("*.py"):
        found.update(re.findall(r'^@?operator\(\s*"(\w+)', path.read_text(encoding="utf-8"), re.MULTILINE))
    return frozenset(found)


def checks(table: ReleaseTable) -> Iterator[Check | Unchecked]:
    """A check for each operator of the release that has sample arguments; the reason for each that has none."""
    for operator in sorted(table.custom_operators):
        if operator.startswith("_") or "backward" in operator or operator.endswith("_grad"):
            continue
        plain = operator.removesuffix("_")
        if operator not in _with_cases() and operator not in SAMPLES and plain not in SAMPLES:
            yield Unchecked("custom", operator, phrase(why_not(operator, plain in _simulated())))
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
