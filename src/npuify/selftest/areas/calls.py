"""Which functions of torch run on the CPU, as the imported package said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.language import commas, phrase
from npuify.model import Evidence
from npuify.selftest.checks import Check, Unchecked
from npuify.selftest.inside.questions.calls import plain
from npuify.selftest.inside.samples.call_list import CALLS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.release.table import ReleaseTable


def checks(table: ReleaseTable) -> Iterator[Check | Unchecked]:
    """A check for each call that came to an end when the package was asked."""
    for function in sorted(CALLS):
        operators = table.on_cpu(function)
        if operators is None:
            yield Unchecked(
                "calls", function, phrase("the call was not asked on this release, or ended for want of a kernel")
            )
            continue
        claim = (
            phrase(
                "{function} runs these operators on the CPU: {operators}",
                function=function,
                operators=commas(operators),
            )
            if operators
            else phrase("{function} runs no operator on the CPU", function=function)
        )
        yield Check(
            id=f"calls/{function}",
            claim=claim,
            subject=function.partition(",")[0].partition(" ")[0],
            evidence=Evidence.LIVE,
            source=f"torch-npu {table.torch_npu}",
            function="calls:on_cpu",
            arguments={"function": function},
            expected=plain(operators),
            alone=True,
            quick=bool(operators) and function.startswith("torch.linalg"),
        )
