"""Results become knowledge: what a result says of claims that this npuify makes is kept, and nothing is overwritten
in silence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from npuify import knowledge
from npuify.knowledge.hardware.facts import (
    FORMAT,
    SHIPPED,
    Fact,
    FactsFile,
    file_name,
    forget,
    own_folder,
    read_facts,
    sights_of,
    write_facts,
)
from npuify.knowledge.hardware.results import REFUTED, Status, read_result
from npuify.language import phrase
from npuify.model import NpuifyError
from npuify.report import printable
from npuify.selftest.run import plan_for, table_of
from npuify.selftest.runner import plain

if TYPE_CHECKING:
    from pathlib import Path

    from npuify.knowledge.hardware.results import Outcome, SelftestResult
    from npuify.selftest.checks import Check


class Conflict(msgspec.Struct, frozen=True):
    """A claim of which two results say different things."""

    claim: str
    here: str
    """The machine and what was known."""
    now: str


class Learned(msgspec.Struct, frozen=True):
    """What came of a result."""

    machine: str
    path: str
    held: int
    refuted: tuple[str, ...]
    unknown: int
    """Outcomes about claims that this npuify does not make, or makes otherwise."""
    conflicts: tuple[Conflict, ...]
    """Of the same kind of machine: kept as they were, or replaced where that was asked for."""
    elsewhere: tuple[Conflict, ...]
    """What other kinds of machines said."""
    is_replaced: bool = False
    """The new answers took the place of those in ``conflicts``."""


def learn(result: Path, *, shipped: bool = False, replace: bool = False) -> Learned:
    """Keep what a result says.

    Args:
        result: the JSON of ``npuify selftest``.
        shipped: into the tables of this checkout, not into the user's own overlay.
        replace: where the same kind of machine said otherwise before, the new result counts.

    Raises:
        NpuifyError: it is no result, not from an NPU, or about a release that is not known; the file cannot be written.
    """
    content = read_result(result)
    machine = content.machine
    if machine.kind != "npu":
        raise NpuifyError(
            phrase("the result is from npuify's own simulation: there is nothing to learn from it"), file=str(result)
        )
    table = table_of(machine.torch_npu)
    if table.torch_npu != machine.torch_npu:
        raise NpuifyError(phrase("there is no table for torch_npu {value}", value=machine.torch_npu), file=str(result))
    claims = {check.id: check for check in plan_for(table).checks if check.counts}
    facts, unknown = _facts(content, claims)
    folder = SHIPPED if shipped else own_folder()
    path = folder / file_name(machine.chip, machine.cann, machine.torch_npu, machine.driver)
    before = read_facts(path).facts if path.is_file() else {}
    conflicts = tuple(
        Conflict(name, f"{machine.in_short}: {_said(before[name])}", _said(fact))
        for name, fact in facts.items()
        if name in before and before[name] != fact
    )
    kept = {**before, **facts} if replace else {**facts, **before}
    elsewhere = tuple(
        Conflict(name, f"{sight.machine}: {_said(sight.fact)}", _said(facts[name]))
        for name, sights in sights_of(machine.torch_npu).items()
        for sight in sights
        if name in facts and sight.fact.held != facts[name].held and sight.machine != machine.in_short
    )
    write_facts(
        path,
        FactsFile(
            format=FORMAT,
            chip=machine.chip,
            cann=machine.cann,
            torch_npu=machine.torch_npu,
            torch=machine.torch,
            driver=machine.driver,
            facts=kept,
        ),
    )
    forget()
    knowledge.load.cache_clear()
    refuted = tuple(name for name, fact in facts.items() if not fact.held)
    return Learned(
        machine.in_short, str(path), len(facts) - len(refuted), refuted, unknown, conflicts, elsewhere, replace
    )


def _facts(content: SelftestResult, claims: dict[str, Check]) -> tuple[dict[str, Fact], int]:
    """What is to be kept, and how many outcomes are about other claims than ours."""
    facts: dict[str, Fact] = {}
    unknown = 0
    for outcome in content.outcomes:
        if outcome.status is Status.NOT_ASKED:
            continue
        check = claims.get(outcome.id)
        if check is None or not _is_same_claim(check, outcome):
            unknown += 1
            continue
        held = outcome.status not in REFUTED
        facts[outcome.id] = Fact(held) if held else Fact(held, outcome.seen)
    return facts, unknown


def _is_same_claim(check: Check, outcome: Outcome) -> bool:
    """Whether it was asked for what we claim now, and says of itself what its answer says."""
    expected = plain(msgspec.to_builtins(check.expected))
    if outcome.expected != expected:
        return False
    return bool(outcome.seen == expected) == (outcome.status is Status.HELD)


def _said(fact: Fact) -> str:
    if fact.held:
        return phrase("it held")
    return phrase("it did not hold; seen: {value}", value=_short(fact.seen))


def _short(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 120 else text[:119] + "…"


def render(learned: Learned) -> str:
    """For a person."""
    lines = [
        phrase(
            "{machine}: {held} claims held, {refuted} did not.",
            machine=learned.machine,
            held=learned.held,
            refuted=len(learned.refuted),
        ),
        *(f"  {name}" for name in learned.refuted),
    ]
    if learned.unknown:
        lines.append(phrase("Left out, since this npuify claims something else: {count}", count=learned.unknown))
    before = (
        phrase("The same kind of machine said otherwise before; replaced by what it says now:")
        if learned.is_replaced
        else phrase("The same kind of machine said otherwise before; kept as it was, unless --replace is given:")
    )
    others = phrase("Other machines say otherwise; both are kept:")
    for title, conflicts in ((before, learned.conflicts), (others, learned.elsewhere)):
        if conflicts:
            lines += ["", title]
        for one in conflicts:
            lines += [f"  {one.claim}", f"    {one.here}", f"    {learned.machine}: {one.now}"]
    lines.append(phrase("Kept in {path}", path=learned.path))
    return printable("\n".join(lines) + "\n")
