"""What takes the place of CUDA kernels and packages must compute on the NPU what it computes on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.helpers import PACKAGES
from npuify.knowledge.third_party.members import members
from npuify.knowledge.third_party.replacements import families
from npuify.language import phrase
from npuify.model import Evidence
from npuify.selftest.checks import Check, Unchecked
from npuify.selftest.inside.samples.kernel_samples import SAMPLES
from npuify.selftest.inside.samples.member_samples import WITHOUT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.release.table import ReleaseTable


def checks(table: ReleaseTable) -> Iterator[Check | Unchecked]:
    """A check for each function that has sample arguments; the reason for each module that has none."""
    for name in SAMPLES:
        module, _, function = name.partition(":")
        kind, _, family = module.partition(".")
        yield Check(
            id=f"kernels/{family} {function}",
            claim=phrase("{function} of the module {family} gives the CPU's results", function=function, family=family),
            subject="NPU643" if kind == "replacements" else "NPU622",
            evidence=Evidence.ASSUMED,
            source="tests on the simulated NPU",
            function="kernels:disagreement",
            arguments={"name": name},
            expected="",
            seconds=120,
            quick=name == "replacements.chamfer:forward_returned",
        )
    asked = {name.partition(":")[0] for name in SAMPLES}
    modules = [f"replacements.{family}" for family in families()]
    for module in (*modules, *(f"packages.{family}" for family in PACKAGES.values())):
        if module not in asked:
            yield Unchecked("kernels", module.partition(".")[2], phrase("there are no sample arguments"))
    for module, name in sorted({(fact.module, name) for name, fact in members().items() if fact.module}):
        family, plain = PACKAGES[module], name.rpartition(".")[2]
        if f"packages.{family}:{plain}" not in SAMPLES:
            yield Unchecked("kernels", f"{family} {plain}", phrase(WITHOUT.get(plain, "there are no sample arguments")))
