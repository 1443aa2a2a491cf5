"""Functions of torch, with or without kernels of the NPU, must give the CPU's results and gradients in each type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.knowledge.pytorch.functions import functions, lack_of
from npuify.language import phrase
from npuify.model import Evidence
from npuify.selftest.checks import Check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.release.table import ReleaseTable

_QUICK = frozenset(
    "add mul matmul bmm mm softmax sum mean exp nn.functional.conv2d nn.functional.layer_norm nn.functional.gelu "
    "nn.functional.cross_entropy nn.functional.embedding cumsum where gather sort nn.functional.linear cat".split()
)


def checks(table: ReleaseTable) -> Iterator[Check]:
    """A check for each function of which it is known to which operators it leads."""
    for name in sorted(functions()):
        short = name.removeprefix("torch.")
        if short.startswith(("Tensor.", "nn.")) and not short.startswith("nn.functional."):
            continue
        lack = lack_of(name, table)
        claim = (
            phrase("{function} gives the CPU's results on the NPU", function=name)
            if lack is None or not lack.always
            else phrase("{function} gives the CPU's results, computed on the CPU", function=name)
        )
        yield Check(
            id=f"operators/{name}",
            claim=claim,
            subject=name,
            evidence=Evidence.ASSUMED,
            source="nobody has compared them on an NPU",
            function="operators:disagreements",
            arguments={"function": short},
            expected={},
            seconds=240,
            quick=short in _QUICK,
        )
