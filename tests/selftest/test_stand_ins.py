"""On npuify's stand-ins for the driver nothing is computed: only what needs no kernel is asked there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

pytest.importorskip("torch")

import torch

from npuify.knowledge.hardware.results import MachineSeen, Outcome, Status
from npuify.model import Evidence
from npuify.selftest.checks import Check
from npuify.selftest.inside.agree import difference
from npuify.selftest.inside.ask import CannotAsk
from npuify.selftest.inside.questions import doctor, kernels, programs, projects
from npuify.selftest.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Callable

    from npuify.selftest.worker import Worker


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPUIFY_STAND_IN_DEVICES", "2")


def test_values_are_compared_where_there_is_a_device() -> None:
    assert difference(torch.ones(2), torch.ones(2)) == ""
    assert difference(torch.ones(2), torch.zeros(2)) == "differs by 1"


def test_on_stand_ins_only_shapes_are(stand_in: None) -> None:
    assert difference(torch.ones(3), torch.ones(2)) == "another shape"
    assert difference([torch.ones(2)], [torch.ones(2), torch.ones(2)]) == "1 results for 2"
    assert difference([], []) == ""
    with pytest.raises(CannotAsk, match="there is no kernel here"):
        difference(torch.ones(2), torch.zeros(2))


def test_shapes_that_depend_on_numbers_are_not_judged_there(stand_in: None, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = iter([torch.ones(3), torch.ones(2)])
    monkeypatch.setitem(kernels.SAMPLES, "packages.scatter:scatter", lambda: (1,))
    monkeypatch.setattr("npuify.helpers.packages.scatter.scatter", lambda _: next(calls))
    with pytest.raises(CannotAsk, match="there is no kernel here"):
        kernels.disagreement("packages.scatter:scatter")


@pytest.mark.parametrize(
    ("kind", "area", "status"),
    [
        ("stand-in", "kernels", Status.NOT_ASKED),
        ("stand-in", "names", Status.CRASHED),
        ("npu", "kernels", Status.CRASHED),
    ],
)
def test_a_crash_over_numbers_is_no_answer_there(kind: Any, area: str, status: Status) -> None:
    told: list[Outcome] = []
    check = Check(
        id=f"{area}/one", claim="one holds", subject="", evidence=Evidence.ASSUMED, source="", function="", arguments={},
        expected="",
    )  # fmt: skip
    worker, machine = cast("Worker", None), MachineSeen(kind=kind)
    runner = Runner("python", worker, machine, jobs=1, told=lambda _, one: told.append(one))
    runner._tell(check, {"id": check.id, "ended": "SIGSEGV"})
    assert [one.status for one in told] == [status]


def test_layers_have_the_same_weights_on_both_sides() -> None:
    layer = kernels.used(torch.nn.Linear)
    assert torch.equal(layer((3, 2), torch.ones(1, 3)), layer((3, 2), torch.ones(1, 3)))


@pytest.mark.parametrize(
    "ask",
    [
        lambda: doctor.works("raise SystemExit(1)"),
        lambda: programs.losses("", "", {}, 0.1, []),
        lambda: projects.losses("", [], [], [], "", 0.1),
    ],
)
def test_programs_are_not_asked_for_numbers_there(ask: Callable[[], str], stand_in: None) -> None:
    with pytest.raises(CannotAsk, match="there is no kernel here"):
        ask()
