"""Whole machines: each broken one is called broken for its own fault and no other, and healthy ones for nothing."""

from __future__ import annotations

import pytest

from npuify.doctor.examine import judge
from npuify.doctor.facts import gather
from npuify.report.doctor import Status

from .machines import BROKEN, HEALTHY, expected, load


def told(name: str, status: Status) -> dict[str, str]:
    results, _ = judge(gather(load(name).machine()))
    return {one.check: one.message for one in results if one.status is status}


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_wrong_with_a_healthy_machine(name: str) -> None:
    assert told(name, Status.ERROR) == {}
    assert told(name, Status.WARNING) == {}


@pytest.mark.parametrize("name", BROKEN)
def test_the_fault_is_named_and_no_other(name: str) -> None:
    errors, warnings = expected(name)
    assert errors or warnings
    assert set(told(name, Status.ERROR)) == errors
    assert set(told(name, Status.WARNING)) == warnings


@pytest.mark.parametrize("name", [*HEALTHY, *BROKEN])
def test_no_check_fails_itself(name: str) -> None:
    results, _ = judge(gather(load(name).machine()))
    assert not [one.message for one in results if one.status is Status.SKIPPED]


def test_there_are_machines_of_each_kind() -> None:
    assert len(HEALTHY) >= 6 and len(BROKEN) >= 20
