"""Which share of what npuify claims has a check."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from npuify.engine.catalog import all_rules
from npuify.helpers import PACKAGES
from npuify.knowledge.hand_written import meanings
from npuify.knowledge.third_party.members import members
from npuify.language import mark, phrase
from npuify.selftest.areas.behaviour import question_of

if TYPE_CHECKING:
    from npuify.knowledge.release.table import ReleaseTable
    from npuify.selftest.checks import Plan


class Share(NamedTuple):
    """Claims of one kind, and how many of them have a check. The rest is listed with the reason."""

    what: str
    asked: int
    all: int

    @property
    def percent(self) -> float:
        """Of a hundred; a hundred where there is nothing."""
        return 100.0 * self.asked / self.all if self.all else 100.0


def shares(plan: Plan, table: ReleaseTable) -> tuple[Share, ...]:
    """The shares of a whole plan, the ones that matter most first.

    Args:
        plan: all areas of a release.
        table: that release.
    """
    found = (_exported(plan, table), _behaviour(table), _forms(plan), _members(plan), _operators(plan))
    return tuple(one for one in found if one.all)


def share_lines(plan: Plan, table: ReleaseTable) -> list[str]:
    """The shares, a line each."""
    return [
        phrase(
            "{asked} of {all} {what} ({percent} %)",
            asked=one.asked,
            all=one.all,
            what=phrase(one.what),
            percent=f"{one.percent:.0f}" if one.asked == one.all else f"{min(one.percent, 99.9):.1f}",
        )
        for one in shares(plan, table)
    ]


def _exported(plan: Plan, table: ReleaseTable) -> Share:
    """Public names that the imported package says it exports; none where it was not imported."""
    asked = {check.subject for check in plan.checks if check.area == "names"}
    exported = table.live.exported if table.live is not None else {}
    names = {f"{module}.{name}" for module, held in exported.items() for name in held}
    public = {name for name in names if not any(part.startswith("_") for part in name.split("."))}
    return Share(mark("names that the package exports"), len(public & asked), len(public))


def _behaviour(table: ReleaseTable) -> Share:
    rows = {id(row): row for name in meanings() if (row := table.meaning(name)) is not None}
    asked = sum(bool(question_of(row, table)) for row in rows.values())
    return Share(mark("rows about what a name does otherwise"), asked, len(rows))


def _forms(plan: Plan) -> Share:
    """Of rules that write Python: what is left out writes other files, or only takes away."""
    asked = {check.id.removeprefix("forms/") for check in plan.checks if check.area == "forms"}
    without = {one.subject for one in plan.unchecked if one.area == "forms"}
    writing = {code for code, rule in all_rules().items() if rule.example("Before") and rule.example("After")}
    checked = {name.partition("/")[0] for name in asked}
    left = writing - checked - {name.partition("/")[0] for name in without}
    return Share(mark("forms of Python that rules and tables write"), len(asked), len(asked) + len(left))


def _members(plan: Plan) -> Share:
    asked = {check.id.removeprefix("kernels/") for check in plan.checks if check.area == "kernels"}
    names = {f"{PACKAGES[fact.module]} {name.rpartition('.')[2]}" for name, fact in members().items() if fact.module}
    return Share(mark("names of packages that are replaced by modules"), len(names & asked), len(names))


def _operators(plan: Plan) -> Share:
    asked = sum(check.area == "custom" for check in plan.checks)
    return Share(
        mark("operators of torch_npu's own"), asked, asked + sum(one.area == "custom" for one in plan.unchecked)
    )
