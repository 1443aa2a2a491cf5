"""One run: which checks there are for a machine, which of them are wanted, and the result."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

from npuify import knowledge
from npuify.knowledge.hardware.results import VERSION, MachineSeen, SelftestResult
from npuify.knowledge.release.table import load_shipped
from npuify.language import phrase, spoken
from npuify.model import NpuifyError
from npuify.process.python import python_for
from npuify.selftest.areas import claims
from npuify.selftest.checks import AREAS, Check, Plan, Unchecked
from npuify.selftest.runner import Runner, describe
from npuify.selftest.state import State, usual_place
from npuify.selftest.worker import Worker
from npuify.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from npuify.knowledge.hardware.results import Outcome
    from npuify.knowledge.release.table import ReleaseTable

_MODULES: Final = "npuify.selftest.areas"


def plan_for(table: ReleaseTable, areas: Sequence[str] = AREAS) -> Plan:
    """All claims about a release, with a question for each that one can be made of."""
    checks: list[Check] = []
    unchecked: list[Unchecked] = []
    for area in areas:
        for one in _of_area(area, table):
            if isinstance(one, Check):
                checks.append(one)
            else:
                unchecked.append(one)
    return Plan(tuple(checks), tuple(unchecked))


def _of_area(area: str, table: ReleaseTable) -> Iterator[Check | Unchecked]:
    if area in claims.AREAS:
        return claims.of_area(area)
    found: Iterator[Check | Unchecked] = importlib.import_module(f"{_MODULES}.{area}").checks(table)
    return found


def chosen_areas(wanted: Sequence[str]) -> tuple[str, ...]:
    """The areas that were asked for; all of them where none was.

    Raises:
        NpuifyError: there is no such area.
    """
    unknown = [one for one in wanted if one not in AREAS]
    if unknown:
        raise NpuifyError(phrase("there is no area {area}", area=unknown[0]), advice=", ".join(AREAS))
    return tuple(area for area in AREAS if not wanted or area in wanted)


def table_of(torch_npu: str) -> ReleaseTable:
    """The table for the torch_npu that was found; the nearest of the same series, where its own is not shipped.

    Raises:
        NpuifyError: nothing is known of the series.
    """
    return load_shipped(knowledge.choose_release(torch_npu or None, None).torch_npu)


def run_selftest(
    *,
    python: str = "",
    quick: bool = False,
    areas: Sequence[str] = (),
    cards: int = 0,
    jobs: int = 1,
    resume: bool = False,
    state: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SelftestResult:
    """Hold the claims against this machine.

    Args:
        python: the interpreter that has torch and torch_npu; empty: this one, or the first on the path.
        quick: only the checks that take little.
        cards: use only so many; 0: all there are.
        state: where what was found is kept as it comes; None: in the user's cache folder.

    Raises:
        NpuifyError: there is no torch_npu, no NPU, no table for the release, or no such area.
    """
    interpreter = python_for(python)
    chosen = chosen_areas(areas)
    worker = Worker(interpreter, {})
    try:
        machine = describe(worker)
        if not machine.cards:
            raise NpuifyError(phrase("there is no NPU here"), advice=phrase("run npuify doctor"))
        if cards:
            machine = limited(machine, cards)
        table = table_of(machine.torch_npu)
        plan = plan_for(table, chosen)
        checks = [check for check in plan.checks if check.quick or not quick]
        with State(state or usual_place(), machine, resume=resume) as kept:
            found: dict[str, Outcome] = {}
            total = sum(check.counts for check in checks)

            def told(check: Check, outcome: Outcome) -> None:
                found[check.id] = outcome
                kept.keep(check, outcome)
                if progress is not None:
                    progress(len(found), total)

            waiting = []
            for check in checks:
                known = kept.found(check)
                if known is not None and not check.group:
                    found[check.id] = known
                else:
                    waiting.append(check)
            Runner(interpreter, worker, machine, jobs=jobs, told=told).run(waiting)
    except BaseException:
        worker.close()
        raise
    return SelftestResult(
        version=VERSION,
        tool=__version__,
        language=spoken(),
        complete=not quick and chosen == AREAS,
        machine=machine,
        outcomes=tuple(found[check.id] for check in checks if check.id in found),
    )


def limited(machine: MachineSeen, cards: int) -> MachineSeen:
    """The machine as if it had no more than so many cards.

    Raises:
        NpuifyError: it has fewer.
    """
    if cards > machine.cards:
        raise NpuifyError(phrase("there are {cards} cards, not {wanted}", cards=machine.cards, wanted=cards))
    import msgspec

    return msgspec.structs.replace(machine, cards=cards)
