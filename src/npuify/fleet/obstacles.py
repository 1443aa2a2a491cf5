"""What blocks a project, by the decision that would take it away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from npuify.fleet.model import Obstacle
from npuify.report.verdicts.kernels import kernel_groups
from npuify.report.verdicts.levels import subject_of
from npuify.report.verdicts.packages import package_of

if TYPE_CHECKING:
    from npuify.model import NativeOperator, ScanResult, Survey
    from npuify.report.verdicts.verdict import Verdict

REPLACE_KERNELS: Final = "--replace-kernels"
"""The decision for kernels whose replacements are proven."""

_ANY_NAME: Final = frozenset(("c", "cuda", "ext", "extension", "kernels", "native", "ops"))
"""Names of extensions that say nothing of what is in them: there the whole name of the module counts."""


def obstacles(result: ScanResult, verdict: Verdict) -> tuple[Obstacle, ...]:
    """The blockers of a verdict. The same package is the same decision in each project; so is an extension that is
    called the same, since such code is copied from project to project."""
    kernels = {one.what for one in kernel_groups(result.survey)}
    found = []
    for one in verdict.blockers:
        if one.what in kernels:
            kind, decision = "kernels", _extension(one.what, result.survey)
        elif subject := subject_of(one):
            kind, decision = "package", _package(subject)
        else:
            kind, decision = "framework", one.what
        found.append(Obstacle(kind, decision, one.what, one.why, one.advice, len(one.places)))
    return tuple(found)


def _extension(what: str, survey: Survey) -> str:
    """What is to be decided about an extension: take the replacements, or what to do with code of that name."""
    module = what.partition(":")[0]
    waiting = [one for one in survey.operators if one.module == module and _stops(one)]
    if waiting and all(one.replacement for one in waiting):
        return REPLACE_KERNELS
    last = module.rpartition(".")[2]
    return (module if last.strip("_").lower() in _ANY_NAME else last) if waiting else ""


def _package(subject: str) -> str:
    """As :func:`package_of`; of NVIDIA's namespace, the package in it."""
    parts = subject.partition(" ")[0].split(".")
    return ".".join(parts[:2]) if parts[0] == "nvidia" else package_of(subject)


def _stops(operator: NativeOperator) -> bool:
    return bool(operator.calls) and not operator.has_npu and operator.difficulty != "host"
