"""On npuify's stand-ins for the driver nothing is computed: only what needs no kernel is asked there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("torch")

import torch

from npuify.selftest.inside import doctor, programs, projects
from npuify.selftest.inside.agree import difference
from npuify.selftest.inside.ask import CannotAsk

if TYPE_CHECKING:
    from collections.abc import Callable


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
