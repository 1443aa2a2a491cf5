"""What takes the place of CUDA kernels and packages must compute on the NPU what it computes on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.helpers import PACKAGES, kernel_module
from npuify.knowledge.third_party.members import members
from npuify.knowledge.third_party.replacements import families
from npuify.language import phrase
from npuify.model import Evidence
from npuify.selftest.checks import Check, Unchecked
from npuify.selftest.inside.questions.monitoring import NAMES
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
    for name in NAMES:
        yield Check(
            id=f"kernels/nvml {name}",
            claim=phrase("{function} of the module {family} answers what can be true", function=name, family="nvml"),
            subject="NPU622",
            evidence=Evidence.ASSUMED,
            source="tests on the simulated NPU",
            function="monitoring:holds",
            arguments={"name": name},
            expected=True,
        )
    asked = {name.partition(":")[0] for name in SAMPLES}
    # A package's own sources have its module as their family.
    packages = {f"packages.{name}" for name in PACKAGES.values()}
    found = {family: kernel_module(family) for family in families()}
    without = [one for one, module in found.items() if module not in packages and f"replacements.{one}" not in asked]
    without += [name for name in PACKAGES.values() if f"packages.{name}" not in asked and name != "nvml"]
    for family in without:
        yield Unchecked("kernels", family, phrase("there are no sample arguments"))
    for module, name in sorted({(fact.module, name) for name, fact in members().items() if fact.module}):
        family, plain = PACKAGES[module], name.rpartition(".")[2]
        if f"packages.{family}:{plain}" not in SAMPLES and not (family == "nvml" and plain in NAMES):
            yield Unchecked("kernels", f"{family} {plain}", phrase(WITHOUT.get(plain, "there are no sample arguments")))
