"""Every claim has a question, or the reason why it has none."""

from __future__ import annotations

import copy
import importlib
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import pytest

from npuify import knowledge
from npuify.engine.catalog import all_rules
from npuify.helpers import PACKAGES, kernel_module
from npuify.knowledge.hand_written import meanings
from npuify.knowledge.third_party.members import members
from npuify.knowledge.third_party.replacements import families
from npuify.selftest.areas.behaviour import question_of
from npuify.selftest.inside.agree import tensors
from npuify.selftest.inside.samples.kernel_samples import SAMPLES
from npuify.selftest.run import plan_for
from npuify.selftest.shares import share_lines, shares
from npuify.selftest.text import render_plan

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


def test_every_module_in_the_place_of_kernels_has_a_check() -> None:
    asked = {check.id.partition("/")[2].partition(" ")[0] for check in plan().checks if check.area == "kernels"}
    without = {one.subject for one in plan().unchecked if one.area == "kernels" and " " not in one.subject}
    assert asked == {*families(), *PACKAGES.values()}
    assert not without


@pytest.mark.parametrize("name", [one for one in SAMPLES if one.startswith("replacements.")])
def test_a_sample_of_a_module_is_taken_and_something_comes_of_it(name: str) -> None:
    """A check whose function does nothing with its arguments, or gives nothing but zeros, would pass anywhere."""
    torch = pytest.importorskip("torch")
    module, _, function = name.partition(":")
    call = getattr(importlib.import_module(f"npuify.helpers.{kernel_module(module.partition('.')[2])}"), function)
    given = SAMPLES[name]()
    before = tensors(copy.deepcopy(given))
    made = tensors(call(*given))
    made += [one for one, other in zip(tensors(given), before, strict=True) if not torch.equal(one, other)]
    assert made
    assert any(one.numel() and bool((one != 0).any()) for one in made)
    assert not any(one.is_floating_point() and bool(one.isnan().any()) for one in made)


def test_the_shares_that_are_promised_are_kept() -> None:
    found = {one.what: one for one in shares(plan(), knowledge.load(RELEASE))}
    assert found["names that the package exports"].percent == 100 and found["names that the package exports"].all > 500
    assert found["rows about what a name does otherwise"].percent >= 90
    assert found["forms of Python that rules and tables write"].percent == 100
    assert found["names of packages that are replaced by modules"].percent > 95


@pytest.mark.parametrize("release", [one for one in RELEASES if knowledge.load(one).live is not None])
def test_what_has_no_check_is_listed_with_the_reason(release: str) -> None:
    table = knowledge.load(release)
    whole = plan_for(table)
    assert all(one.why for one in whole.unchecked)
    names = {f"{PACKAGES[fact.module]} {name.rpartition('.')[2]}" for name, fact in members().items() if fact.module}
    asked = {check.id.partition("/")[2] for check in whole.checks if check.area == "kernels"}
    assert names - asked == {one.subject for one in whole.unchecked if one.area == "kernels" and " " in one.subject}
    told = share_lines(whole, table)
    assert told == render_plan(whole, table).replace("\n  ", "\n").splitlines()[-len(told) :]
