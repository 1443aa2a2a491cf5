"""Which release is aimed at."""

from __future__ import annotations

import pytest

from npuify.knowledge import choose_release, load, releases
from npuify.knowledge.release.versions import cann_in_words, shipped_tables, within
from npuify.model import NpuifyError

NEWEST = shipped_tables()[0]


def test_every_table_has_a_row_and_they_agree() -> None:
    rows = {row.torch_npu: row for row in releases()}
    assert len(rows) == len(releases()), "a release has two rows"
    for version in shipped_tables():
        assert rows[version].has_table
        assert rows[version].torch == load(version).torch
        assert rows[version].pythons
    assert sum(row.has_table for row in rows.values()) == len(shipped_tables())


def test_newest_first() -> None:
    names = [row.torch_npu for row in releases()]
    assert names[0] == "2.14.0"
    assert names.index("2.10.0.post7") < names.index("2.9.0.post9") < names.index("2.9.0")


@pytest.mark.parametrize(
    ("requested", "table"),
    [
        ("2.14.0", "2.14.0"),
        ("2.7", "2.7.1.post11"),
        ("2.7.1", "2.7.1.post11"),
        ("2.7.1.post4", "2.7.1.post11"),
        ("2.9.1", "2.9.0.post9"),
        (" 2.1 ", "2.1.0.post17"),
    ],
)
def test_requested(requested: str, table: str) -> None:
    chosen = choose_release(requested, "==2.14.0")
    assert chosen.torch_npu == table
    assert "asked for" in chosen.reason


@pytest.mark.parametrize("requested", ["1.11", "2.15", "3", "latest", "", "2.7.1.post99", "2.7.9"])
def test_unknown_request(requested: str) -> None:
    with pytest.raises(NpuifyError) as caught:
        choose_release(requested, None)
    for version in shipped_tables():
        assert version in caught.value.advice


@pytest.mark.parametrize(
    ("pin", "torch"),
    [
        ("==2.1.0", "2.1.0"),
        ("==2.1.*", "2.1.0"),
        ("==2.7.0", "2.7.1"),
        (">=2.7.0,<2.7.1", "2.7.1"),
        ("<2.7.1", "2.6.0"),
        ("==2.3.1+cu121", "2.3.1"),
        (">=2.0,<2.4", "2.3.1"),
        ("~=2.3.0", "2.3.1"),
        ("<=2.6", "2.6.0"),
        ("~=2.3", "2.14.0"),
    ],
)
def test_pinned(pin: str, torch: str) -> None:
    chosen = choose_release(None, pin)
    assert chosen.torch == torch
    assert "project" in chosen.reason


@pytest.mark.parametrize(
    "pin", ["==1.13.1", "==1.7.0+cu110", "<2.0", "<2.1", "~=1.12", "<=1.9", ">=1.7,<1.10", "==2.0.1"]
)
def test_an_older_torch_goes_to_the_lowest_release_that_is_supported(pin: str) -> None:
    chosen = choose_release(None, pin)
    assert chosen.torch == "2.6.0"
    assert "lowest release that the vendor still supports" in chosen.reason
    assert pin in chosen.reason


def test_the_end_of_the_vendors_support_is_told() -> None:
    assert "support for it ended on 2025-12-30" in choose_release("2.1", None).reason
    assert "ended" not in choose_release("2.7", None).reason


@pytest.mark.parametrize("pin", [None, "", ">=1.8", ">2", "!=2.5.0", "==99.0", ">=3,<4", "not a version"])
def test_not_pinned_to_a_shipped_one(pin: str | None) -> None:
    chosen = choose_release(None, pin)
    assert chosen.torch_npu == NEWEST
    assert "newest stable" in chosen.reason


@pytest.mark.parametrize(
    ("version", "since", "until", "expected"),
    [
        ("2.5.1.post1", "", "2.5", True),
        ("2.6.0.post5", "", "2.5", False),
        ("2.7.1.post11", "2.7", "", True),
        ("2.6.0.post5", "2.7", "", False),
        ("2.10.0.post7", "2.9", "2.10", True),
        ("2.7.1.post2", "", "2.7.1.post4", True),
        ("2.7.1.post11", "", "2.7.1.post4", False),
        ("2.1.0", "", "", True),
    ],
)
def test_within(version: str, since: str, until: str, expected: bool) -> None:
    assert within(version, since, until) is expected


def test_a_cann_that_is_assumed_says_so() -> None:
    assert cann_in_words("2.14.0", "9.1.0") == "9.1.0 assumed"
    assert cann_in_words("2.12.0", "9.1.0") == "9.1.0"
    # What is not that of the table, or in no row, is told as it is.
    assert cann_in_words("2.14.0", "9.9.9") == "9.9.9"
    assert cann_in_words("0.0.1", "8.0") == "8.0"
    assert cann_in_words("2.14.0", "") == ""


def test_a_requirement_without_upper_bound_is_said_to_become_a_pin() -> None:
    newest = choose_release(None, None)
    bounded_below = choose_release(None, ">=2.1")
    assert bounded_below.torch_npu == newest.torch_npu
    assert bounded_below.reason.endswith(
        f"torch>=2.1 has no upper bound, and becomes torch=={newest.torch} where it is edited"
    )
    assert newest.reason.endswith("the project does not pin torch")
