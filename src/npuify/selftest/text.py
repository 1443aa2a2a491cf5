"""The result of the selftest as text for a terminal, as JSON, and as one HTML page."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import msgspec

from npuify.html.escape import escaped
from npuify.html.sheet import sheet
from npuify.knowledge.hardware.results import REFUTED, SelftestResult, Status
from npuify.language import commas, mark, phrase, plural
from npuify.report import printable, schema_text
from npuify.selftest.shares import share_lines
from npuify.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npuify.knowledge.hardware.results import MachineSeen, Outcome
    from npuify.knowledge.release.table import ReleaseTable
    from npuify.selftest.checks import Plan

_LONGEST: Final = 400
IN_WORDS: Final = {
    Status.HELD: mark("held"),
    Status.DIFFERS: mark("differs"),
    Status.CRASHED: mark("crashed"),
    Status.HUNG: mark("hung"),
    Status.NOT_ASKED: mark("not asked"),
}
"""What became of a claim; these also order the columns."""
_STATUSES: Final = tuple(IN_WORDS)


def refuted(result: SelftestResult) -> list[Outcome]:
    """The claims that did not hold."""
    return [outcome for outcome in result.outcomes if outcome.status in REFUTED]


def verdict(result: SelftestResult) -> str:
    """What it comes to, in a sentence."""
    counts = Counter(outcome.status for outcome in result.outcomes)
    asked = len(result.outcomes) - counts[Status.NOT_ASKED]
    if not asked:
        return phrase("Nothing could be asked.")
    if counts[Status.HELD] == asked:
        return plural("The {count} claim that was asked holds.", "All {count} claims that were asked hold.", asked)
    return phrase("{held} of {asked} claims that were asked hold.", held=counts[Status.HELD], asked=asked)


def render_text(result: SelftestResult) -> str:
    """For a person: the verdict, the machine, the areas, what did not hold, and what was not asked."""
    lines = [verdict(result), "", *(f"  {name:<11}{value}" for name, value in machine_rows(result.machine)), ""]
    lines += [f"  {row}" for row in _area_lines(result)]
    for outcome in refuted(result):
        lines += ["", f"{phrase(IN_WORDS[outcome.status]).upper()} {outcome.id}"]
        lines.append(phrase("  claim:    {claim} ({evidence})", claim=outcome.claim, evidence=outcome.evidence.value))
        lines.append(phrase("  expected: {value}", value=_shown(outcome.expected)))
        lines.append(phrase("  seen:     {value}", value=_shown(outcome.seen)))
    reasons = reasons_of(result)
    if reasons:
        lines += ["", phrase("Not asked:"), *(f"  {count:5} {area}: {why}" for area, why, count in reasons)]
    lines += ["", _no_hardware(result.machine)]
    return printable("\n".join(lines) + "\n")


def _no_hardware(machine: MachineSeen) -> str:
    if machine.kind == "simulated":
        return phrase("This was npuify's simulated NPU: nothing was seen on hardware.")
    if machine.kind == "stand-in":
        return phrase("These were npuify's stand-ins for the driver: nothing was seen on hardware.")
    return phrase("Keep it with npuify knowledge learn, and send it in: CONTRIBUTING.md says how.")


def machine_rows(machine: MachineSeen) -> list[tuple[str, str]]:
    """What is known of the machine, with names."""
    rows = (
        ("chip", f"{machine.cards} x {machine.chip}"),
        ("driver", machine.driver),
        ("firmware", machine.firmware),
        ("CANN", machine.cann),
        ("torch", machine.torch),
        ("torch_npu", machine.torch_npu),
        ("Python", f"{machine.python}, {machine.architecture}"),
    )
    return [(name, value) for name, value in rows if value]


def area_counts(result: SelftestResult) -> dict[str, Counter[Status]]:
    """Area → how many of its claims came to what."""
    found: dict[str, Counter[Status]] = {}
    for outcome in result.outcomes:
        found.setdefault(outcome.area, Counter())[outcome.status] += 1
    return found


def _area_lines(result: SelftestResult) -> Iterator[str]:
    for area, counts in area_counts(result).items():
        told = commas(
            phrase("{number} {state}", number=counts[status], state=phrase(IN_WORDS[status]))
            for status in _STATUSES
            if counts[status]
        )
        yield f"{area:<13}{told}"


def reasons_of(result: SelftestResult) -> list[tuple[str, str, int]]:
    """Area, reason and number of the claims that were not asked."""
    counts = Counter((one.area, one.why) for one in result.outcomes if one.status is Status.NOT_ASKED)
    return [(area, why, count) for (area, why), count in counts.most_common()]


def _shown(value: Any) -> str:
    text = visible(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def render_json(result: SelftestResult) -> str:
    """As JSON; ``version`` says which form. An outcome a line, so that results can be compared with ordinary tools."""
    head = msgspec.to_builtins(msgspec.structs.replace(result, outcomes=()))
    head.pop("outcomes")
    lines = [f'"{key}": {json.dumps(value, ensure_ascii=True)}' for key, value in head.items()]
    rows = [json.dumps(msgspec.to_builtins(one), ensure_ascii=True) for one in result.outcomes]
    return printable("{" + ",\n".join([*lines, '"outcomes": [\n' + ",\n".join(rows) + "\n]"]) + "}\n")


def render_html(result: SelftestResult) -> str:
    """The whole page."""
    worst = "error" if refuted(result) else "ok"
    machine = "".join(
        f"<tr><th>{name}</th><td>{escaped(value)}</td></tr>" for name, value in machine_rows(result.machine)
    )
    areas = "".join(
        f"<tr><th>{escaped(area)}</th>" + "".join(f"<td>{counts[status] or ''}</td>" for status in _STATUSES) + "</tr>"
        for area, counts in area_counts(result).items()
    )
    heads = "".join(f"<th>{escaped(phrase(IN_WORDS[status]))}</th>" for status in _STATUSES)
    wrong = "".join(map(_article, refuted(result))) or f'<p class="dim">{escaped(phrase("Nothing."))}</p>'
    reasons = "".join(
        f"<tr><td>{count}</td><td>{escaped(area)}</td><td>{escaped(why)}</td></tr>"
        for area, why, count in reasons_of(result)
    )
    return sheet(
        command="selftest",
        version=result.tool,
        source=result.machine.in_short,
        title=result.machine.in_short,
        worst=worst,
        heading=verdict(result),
        body=f"""<table>{machine}</table>
<h2>{escaped(phrase("What did not hold"))}</h2>
{wrong}
<h2>{escaped(phrase("All claims, by area"))}</h2>
<table><tr><th></th>{heads}</tr>{areas}</table>
<h2>{escaped(phrase("What was not asked"))}</h2>
<table>{reasons}</table>""",
        foot=_no_hardware(result.machine),
    )


def _article(outcome: Outcome) -> str:
    return (
        f'<article class="error"><p><b class="error">{escaped(phrase(IN_WORDS[outcome.status]))}</b> '
        f"<b>{escaped(outcome.id)}</b></p><p>{escaped(outcome.claim)} "
        f'<span class="dim">({escaped(outcome.evidence.value)})</span></p>'
        f"<p>{escaped(phrase('expected: {value}', value=_shown(outcome.expected)))}</p>"
        f"<p>{escaped(phrase('seen: {value}', value=_shown(outcome.seen)))}</p></article>"
    )


def json_schema() -> str:
    """The JSON Schema of what :func:`render_json` writes."""
    from npuify.knowledge.hardware.results import VERSION

    return schema_text(SelftestResult, "selftest", "What npuify saw on a machine with NPUs", VERSION)


def render_plan(plan: Plan, table: ReleaseTable | None = None) -> str:
    """The checks, a line each, and the claims without one, with the reason.

    Args:
        table: the release of a plan of all areas, for the shares of claims that have a check.
    """
    lines = [f"{check.id}: {check.claim}" for check in plan.checks if check.counts]
    lines += ["", plural("{count} check", "{count} checks", len(lines))]
    if plan.unchecked:
        lines += ["", phrase("Without a check:")]
        lines += [f"  {one.area}/{one.subject}: {one.why}" for one in plan.unchecked]
    if table is not None:
        lines += ["", phrase("These have a check:"), *(f"  {line}" for line in share_lines(plan, table))]
    return printable("\n".join(lines) + "\n")
