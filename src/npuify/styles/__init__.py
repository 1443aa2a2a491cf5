"""The three ways in which migrated code may read: ``npu``, ``portable`` and ``auto``.

A rule knows one spelling, that of the NPU. What the chosen style makes of it is decided here, in one place:
:mod:`npuify.styles.finish` hands each diagnostic to :func:`restyle`, which keeps its edits, writes them in another way,
takes them away with a reason, or says that there is nothing to report at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.language import phrase
from npuify.model import Safety, Severity
from npuify.rules.style_plan import StylePlan

if TYPE_CHECKING:
    from npuify.model import Finding
    from npuify.rules.context import PythonFile
    from npuify.rules.diagnostic import Diagnostic


def restyle(diagnostic: Diagnostic, file: PythonFile) -> Diagnostic | None:
    """What the project's style makes of a diagnostic; None where there is nothing to say in that style."""
    style, node = file.plan.style, diagnostic.place
    if style == "portable":
        from npuify.styles.portable.restyle import restyle as portable

        return portable(diagnostic, node, file)
    if style == "auto":
        from npuify.styles.auto.restyle import restyle as auto

        return auto(diagnostic, node, file)
    return diagnostic


def restyle_other(finding: Finding, plan: StylePlan) -> Finding:
    """A finding about a file that is not Python, as the style has it.

    ``transfer_to_npu`` does not reach such a file, so that the automatic style keeps its edits; a portable project
    keeps what CUDA needs.
    """
    if plan.style != "portable" or not finding.edits:
        return finding
    import msgspec

    from npuify.styles.portable.restyle import REFUSED, SAME

    if finding.code in SAME:
        return finding
    why = REFUSED.get(finding.code, "machines with CUDA need it unchanged; keep a separate file for NPUs")
    message = phrase("{message}; not edited: {why}", message=finding.message, why=why)
    return msgspec.structs.replace(
        finding, message=message, edits=(), safety=Safety.MANUAL, needs_torch_npu=False, severity=_milder(finding)
    )


def _milder(finding: Finding) -> Severity:
    return Severity.WARNING if finding.severity is Severity.ERROR else finding.severity


__all__ = ["StylePlan", "restyle", "restyle_other"]
