"""Every claim has a question, or the reason why it has none."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import pytest

from npuify import knowledge
from npuify.engine.catalog import all_rules
from npuify.knowledge.hand_written import meanings
from npuify.selftest.areas.behaviour import question_of
from npuify.selftest.run import plan_for

if TYPE_CHECKING:
    from npuify.selftest.checks import Plan

RELEASE = "2.13.0"
RELEASES = [one.torch_npu for one in knowledge.releases() if one.has_table]


@cache
def plan() -> Plan:
    return plan_for(knowledge.load(RELEASE))


def test_every_exported_name_has_a_check() -> None:
    live = knowledge.load(RELEASE).live
    assert live is not None
    asked = {check.subject for check in plan().checks if check.area == "names"}
    without = {one.subject: one.why for one in plan().unchecked if one.area == "names"}
    exported = {f"{module}.{name}" for module, names in live.exported.items() for name in names}
    public = {name for name in exported if not any(part.startswith("_") for part in name.split("."))}
    there = {name for name in public if name.rpartition(".")[2] in live.names[name.rpartition(".")[0]]}
    assert len(there) > 400
    assert there - asked - set(without) == set()
    assert set(without.values()) <= {
        "the module exports it and raises when asked for it",
        "the tables read from files have it, the imported package has not",
        "instances have it, not the class",
    }


def test_every_row_of_behaviour_has_a_check() -> None:
    rows = {id(row): row for rows in meanings().values() for row in rows}
    asked = set()
    for release in RELEASES:
        table = knowledge.load(release)
        for name in meanings():
            row = table.meaning(name)
            if row is not None and question_of(row, table):
                asked.add(id(row))
    assert [rows[one].cuda for one in set(rows) - asked] == []


def test_every_form_that_can_be_written_has_a_check() -> None:
    forms = {check.id.removeprefix("forms/") for check in plan().checks if check.area == "forms"}
    without = {one.subject: one.why for one in plan().unchecked if one.area == "forms"}
    writing = {code for code, rule in all_rules().items() if rule.example("Before") and rule.example("After")}
    assert {name.partition("/")[0] for name in (*forms, *without) if name.startswith("NPU")} == writing
    assert all(why.startswith(("what it writes is no Python", "it only takes away")) for why in without.values())


def test_ids_are_unique_and_questions_small() -> None:
    counts = Counter(check.id for check in plan().checks)
    assert [name for name, count in counts.items() if count > 1] == []
    assert len(counts) > 2000


@pytest.mark.parametrize("release", ["2.1.0.post17", "2.14.0"])
def test_other_releases_have_theirs(release: str) -> None:
    areas = Counter(check.area for check in plan_for(knowledge.load(release), ("names", "behaviour", "answers")).checks)
    assert areas["names"] > 500 and areas["behaviour"] > 100


def test_operators_without_sample_arguments_are_listed_with_the_reason() -> None:
    asked = {check.subject.removeprefix("torch_npu.") for check in plan().checks if check.area == "custom"}
    without = {one.subject: one.why for one in plan().unchecked if one.area == "custom"}
    assert len(asked) > 100 and not asked & set(without)
    assert asked | set(without) == {
        name
        for name in knowledge.load(RELEASE).custom_operators
        if not name.startswith("_") and "backward" not in name and not name.endswith("_grad")
    }
    assert without["npu_all_gather_base_mm"] == "it talks to other cards in the middle of the computation"
    assert without["npu_mla_prolog"] == "nothing computes it but the NPU"


def test_every_module_in_the_place_of_kernels_has_a_check_or_is_listed() -> None:
    from npuify.helpers import PACKAGES
    from npuify.knowledge.replacements import families

    asked = {check.id.partition("/")[2].partition(" ")[0] for check in plan().checks if check.area == "kernels"}
    without = {one.subject for one in plan().unchecked if one.area == "kernels"}
    assert asked | without == {*families(), *PACKAGES.values()}
    assert len(asked) > 20 and not asked & without
