"""The doctor's report as text for a terminal, and as JSON."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from npuify.language import commas, mark, padded, phrase, told
from npuify.report import printable, schema_text
from npuify.report.doctor import ORDER, Status
from npuify.report.in_language import as_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.report.doctor import Machine, Report, Result

VERDICTS: Final = {
    Status.OK: "This machine is ready.",
    Status.INFO: "This machine is ready.",
    Status.WARNING: "This machine runs programs, but has issues.",
    Status.ERROR: "This machine is not ready.",
}
MARKS: Final = {
    Status.OK: mark("ok     "),
    Status.SKIPPED: mark("skipped"),
    Status.INFO: mark("note   "),
    Status.WARNING: mark("WARNING"),
    Status.ERROR: mark("ERROR  "),
}
_COUNTS: Final = {
    Status.OK: mark("{count} ok"),
    Status.SKIPPED: mark("{count} skipped"),
    Status.INFO: mark("{count} info"),
    Status.WARNING: mark("{count} warning"),
    Status.ERROR: mark("{count} error"),
}
EVIDENCE: Final = {"reported": "reported by users", "assumed": "assumed, not confirmed"}
"""What is said of facts that are less than documented."""


_NOT_KNOWN: Final = ("smoke.", "python.found", "cann.installed", "cards.seen")
"""Checks that say why they were skipped."""
_LITTLE: Final = "Nothing is wrong with what is known, but most checks lack what they judge by: see them in the JSON."


def verdict(report: Report) -> str:
    """What it comes to, in a sentence; a machine of which little is known is not called ready."""
    skipped = sum(check.status is Status.SKIPPED for check in report.checks)
    if VERDICTS[report.worst] == VERDICTS[Status.OK] and skipped * 2 > len(report.checks):
        return phrase(_LITTLE)
    return phrase(VERDICTS[report.worst])


def render_text(report: Report) -> str:
    """The report for a person: the verdict first, then what is wrong, from the worst, with what to do."""
    lines = [verdict(report), "", *_machine(report.machine, report.source)]
    for result in report.results:
        if result.status is Status.OK:
            continue
        if result.status is Status.SKIPPED and not result.check.startswith(_NOT_KNOWN):
            continue
        lines += ["", *_result(result)]
    counts = Counter(check.status for check in report.checks)
    told = commas(phrase(_COUNTS[one], count=counts[one]) for one in sorted(counts, key=ORDER.__getitem__))
    lines += ["", phrase("{number} checks: {told}. Nothing was changed.", number=len(report.checks), told=told)]
    if report.worst is Status.ERROR or report.worst is Status.WARNING:
        lines.append(phrase("The commands as one script: npuify doctor --fix-script FILE"))
    return printable("\n".join(lines) + "\n")


def render_json(report: Report) -> str:
    """The report as JSON; ``version`` says which form."""
    return printable(as_json(report))


def json_schema() -> str:
    """The JSON Schema of what :func:`render_json` writes."""
    from npuify.report.doctor import VERSION, Report

    return schema_text(Report, "doctor", "What npuify found on a machine", VERSION)


def cards_in_short(machine: Machine) -> str:
    """``8 × 910B3 (Atlas A2), 64 GB``, or ``none``."""
    kinds = Counter((card.name, card.product, card.memory_mib) for card in machine.cards)
    return ", ".join(
        f"{count} × {name}" + (f" ({product})" if product else "") + (f", {memory // 1024} GB" if memory else "")
        for (name, product, memory), count in kinds.items()
    ) or phrase("none")


def _machine(machine: Machine, source: str) -> Iterator[str]:
    nothing = phrase("not installed") if machine.python else phrase("not known")
    rows = (
        (phrase("judged"), phrase(source)),
        (phrase("system"), " ".join(part for part in (machine.system, machine.architecture) if part)),
        (phrase("container"), machine.container),
        (phrase("cards"), cards_in_short(machine)),
        (
            phrase("driver"),
            machine.driver + (phrase(", firmware {version}", version=machine.firmware) if machine.firmware else ""),
        ),
        ("CANN", machine.cann or phrase("not loaded")),
        ("Python", machine.python),
        ("torch", machine.torch or nothing),
        ("torch_npu", machine.torch_npu or nothing),
    )
    for name, value in rows:
        if value:
            yield f"  {padded(name, 10)}{value}"


def _result(result: Result) -> Iterator[str]:
    yield f"{padded(phrase(MARKS[result.status]), 7)} {result.check}: {told(result.message)}"
    if result.advice:
        yield f"        {told(result.advice)}"
    if result.mend is not None:
        where = {"host": phrase("on the host"), "shell": phrase("in this shell")}.get(result.mend.place, "")
        who = phrase("as root") if result.mend.root else ""
        note = commas(part for part in (where, who) if part)
        for command in result.mend.commands:
            yield f"          $ {command}" if not command.startswith("#") else f"          {command}"
        if note:
            yield "          " + phrase("({note})", note=note)
    if result.source and result.status is not Status.INFO:
        known = EVIDENCE.get(result.evidence.value, "")
        yield (
            phrase("        known from: {source} ({evidence})", source=result.source, evidence=known)
            if known
            else phrase("        known from: {source}", source=result.source)
        )
