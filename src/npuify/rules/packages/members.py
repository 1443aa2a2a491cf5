"""Names of packages that only CUDA has: imported from a module in PyTorch, or told at every place that uses them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from npuify.knowledge.third_party.members import member_of, packages_with_members
from npuify.language import commas, phrase, sentences
from npuify.model import Evidence, Safety, Severity
from npuify.rules.common.packages.members import is_guarded, replacement, taken
from npuify.rules.common.packages.rows import package_of
from npuify.rules.common.surely_run import surely_runs
from npuify.rules.packages.imports import TOLD_OF
from npuify.rules.packages.nvml import only_started
from npuify.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


def _words() -> tuple[str, ...]:
    tops = sorted(packages_with_members())
    return tuple(f"{before}{top.lower()}" for top in tops for before in ("import ", "from ", ", "))


_WORDS = _words()


@rule(
    "NPU622",
    "package-member-replaced",
    Safety.SAFE,
    words=_WORDS,
    evidence=Evidence.PACKAGE,
    source="the package's source; tests of the module on the CPU",
)
def package_member_replaced(node: ast.Import | ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
    """What a package with CUDA kernels computes comes from a module in PyTorch, which is written into the project.

    The module has the same functions with the same arguments, forward and backward, so that the code that calls them
    stays as it is. Names that it lacks stay imported from the package, and have findings of their own. In the portable
    style the package stays for CUDA.

    Before::

        from torch_scatter import scatter_add

        def pool(x, index):
            return scatter_add(x, index, dim=0)

    After::

        from npuify_scatter import scatter_add

        def pool(x, index):
            return scatter_add(x, index, dim=0)
    """
    found = replacement(node, file)
    if found is None:
        return
    indent = file.source.segment(file.source.text.line_starts[node.lineno - 1], file.source.start(node))
    package = found.facts[0].package
    parts = [fact.message for fact in found.facts]
    missing = sorted({one for fact in found.facts for one in fact.operators if one not in file.release.operators})
    if missing:
        parts.append(
            phrase(
                "torch_npu {torch_npu} lists no kernel for {operators}: it computes that on the CPU",
                torch_npu=file.release.torch_npu,
                operators=commas(missing),
            )
        )
    yield file.report(
        node,
        phrase(
            "{package} needs CUDA; {module}.py holds what is used of it: {message}",
            package=package,
            module=found.facts[0].module,
            message=sentences(*parts),
        ),
        edits=[file.replace(node, f"{file.source.text.newline}{indent}".join(found.lines))],
        safety=found.safety,
        severity=Severity.WARNING if package == "pynvml" and only_started(file) else None,
        subject=package,
        evidence=found.facts[0].evidence,
        source=found.facts[0].source,
        advice=sentences(*dict.fromkeys(fact.advice for fact in found.facts)),
    )


@rule(
    "NPU623",
    "package-use-to-decide",
    Safety.MANUAL,
    Severity.WARNING,
    words=_WORDS,
    common_words=True,
    evidence=Evidence.DOCUMENTED,
    source="table of names of packages",
)
def package_use_to_decide(node: ast.Import | ast.ImportFrom, file: PythonFile) -> Iterator[Diagnostic]:
    """A name of a package that only CUDA has, where it is used: what there is for it on an NPU has to be chosen.

    Each place is told; all places of one package are one decision. A name that a module in PyTorch could stand for is
    told as well where such a name beside it keeps the import of the whole package. Where the import itself stops the
    program, or says in the same file that the package has no form for the NPU, the places are notes: what stands there
    is to be written anew.
    """
    names = taken(node, file)
    if not names or is_guarded(node, file):
        return
    is_held = replacement(node, file) is None and any(_is_to_decide(use.name) for one in names for use in one.uses)
    for one in names:
        for use in one.uses:
            fact = member_of(use.name)
            if fact is None or file.recall(("members.told", use.node)):
                continue
            held = is_held and one.fact is None and fact.outcome == "replaced"
            if fact.outcome != "decide" and not held:
                continue
            file.remember(("members.told", use.node), True)
            severity = fact.severity
            if severity is Severity.ERROR and not surely_runs(use.node, file):
                severity = Severity.WARNING
            if severity is Severity.WARNING and (_stops_at_import(one.name) or _is_told(one.name, file)):
                severity = Severity.INFO
            yield file.report(
                use.node,
                phrase("{name}: {message}", name=use.name, message=fact.message),
                severity=severity,
                subject=use.name,
                evidence=fact.evidence,
                source=fact.source,
                advice=sentences(
                    fact.advice,
                    phrase(
                        "Import it by its name in a statement of its own, and it is taken from {module}.",
                        module=fact.module,
                    ),
                )
                if held
                else fact.advice,
            )


def _is_to_decide(name: str) -> bool:
    """Whether a name keeps the import of its package as it is."""
    fact = member_of(name)
    return fact is not None and fact.outcome == "decide"


def _is_told(name: str, file: PythonFile) -> bool:
    """Whether the import itself says in this file that the package has to be decided on."""
    severity: Severity | None = file.recall((*TOLD_OF, name.partition(".")[0]))
    return severity in (Severity.WARNING, Severity.ERROR)


def _stops_at_import(name: str) -> bool:
    """Whether a package is one whose import fails where no CUDA is; NPU620 says so at the import."""
    row = package_of(name)
    return row is not None and row.severity is Severity.ERROR and row.status in ("none", "replacement")
