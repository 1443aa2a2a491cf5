"""What a run does only because it was asked to: custom rules, the CPU for some operators, stand-ins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuify.rules.custom.findings import custom_findings
from npuify.rules.custom.findings import may_concern as custom_may_concern
from npuify.rules.operators.cpu_fallback import fallback_findings
from npuify.rules.operators.cpu_fallback import may_concern as fallback_may_concern
from npuify.rules.operators.stand_ins import may_concern as stand_in_may_concern
from npuify.rules.operators.stand_ins import stand_in_findings
from npuify.rules.packages.extensions.replacing import may_concern as replacing_may_concern
from npuify.rules.packages.extensions.replacing import replacing_findings
from npuify.rules.packages.extensions.run_time_builds import beside_replaced

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from npuify.model import Finding
    from npuify.rules.job import Job
    from npuify.rules.opt_ins import OptIns


def may_concern(opt_ins: OptIns, raw: bytes) -> bool:
    """Whether a Python file or notebook can hold anything for them, by its bytes."""
    if opt_ins.custom and custom_may_concern(opt_ins.custom, raw):
        return True
    if opt_ins.cpu_fallback and fallback_may_concern(raw, opt_ins.cpu_operators):
        return True
    if opt_ins.extensions and replacing_may_concern(raw, opt_ins.extensions):
        return True
    return opt_ins.replace_unsupported and stand_in_may_concern(raw)


def opt_in_findings(
    opt_ins: OptIns, relative: str, raw: bytes, job: Job, found: Sequence[Finding] = ()
) -> Iterator[Finding]:
    """What they find in a Python file, not selected and not silenced yet.

    Args:
        opt_ins: what is asked for.
        relative: the file's path.
        raw: its bytes.
        job: what the run is about.
        found: what the rules found in it.

    Raises:
        SyntaxError, UnreadableText: as :class:`npuify.source.python.PythonSource` does.
    """
    run = job.run
    if opt_ins.custom:
        yield from custom_findings(relative, raw, opt_ins.custom, run.project, is_later_round=job.is_later_round)
    if opt_ins.cpu_fallback:
        replaced = frozenset(one.subject for one in found if one.code == "NPU622" and one.edits)
        yield from fallback_findings(relative, raw, opt_ins.cpu_operators, run.project, replaced)
    if opt_ins.extensions:
        portable = run.plan.style == "portable"
        yield from replacing_findings(relative, raw, opt_ins.extensions, run.project, portable=portable)
    if opt_ins.replace_unsupported:
        yield from stand_in_findings(relative, raw, run.release, run.project)


def beside_opt_ins(
    opt_ins: OptIns, relative: str, raw: bytes, job: Job, found: Sequence[Finding], more: Sequence[Finding]
) -> list[Finding]:
    """What the rules found in a Python file, as it is beside what was asked for.

    Args:
        opt_ins: what is asked for.
        relative: the file's path.
        raw: its bytes, which parse.
        job: what the run is about.
        found: what the rules found in it.
        more: what the opt-ins found, selected and not silenced.
    """
    if not opt_ins.extensions:
        return list(found)
    return beside_replaced(relative, raw, found, more, portable=job.run.plan.style == "portable")
