"""The tables of ``npu-smi info``: read by cells, since no two tools agree on columns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuify.doctor.probes.npu_smi import Card, numbered, parse
from npuify.knowledge.machine.drivers import chip

from .machines import HEALTHY, load

pytestmark = pytest.mark.core


def cards(name: str) -> tuple[Card, ...]:
    return parse(load(name).commands["npu-smi info"].stdout).cards


@pytest.mark.parametrize(
    ("machine", "count", "product"),
    [
        ("a2", 8, "Atlas A2"),
        ("a3_container", 4, "Atlas A3"),
        ("a3_wide", 4, "Atlas A3"),
        ("910a_x86", 8, "Ascend 910 (first generation)"),
        ("910a_old_tool", 4, "Ascend 910 (first generation)"),
        ("910b_first", 8, "Ascend 910 (first generation)"),
        ("310p_x86", 2, "Ascend 310P"),
    ],
)
def test_every_layout(machine: str, count: int, product: str) -> None:
    found = cards(machine)
    assert len(found) == count
    assert [card.physical for card in found] == list(range(count))
    kinds = {row.product for card in found if (row := chip(card.name, has_ddr=card.ddr_total > 0))}
    assert kinds == {product}
    assert {name for name in HEALTHY if not name.startswith(("layout_", "tensorflow_"))} == {
        "a2",
        "a2_two_cards",
        "a3_container",
        "a3_wide",
        "910a_x86",
        "910a_old_tool",
        "910b_first",
        "310p_x86",
    }


def test_both_dies_of_an_a3_and_power_of_the_first_only() -> None:
    first, second = cards("a3_container")[:2]
    assert (first.npu, first.chip, first.power_w, first.hbm_used) == (0, 0, 166.5, 3133)
    assert (second.npu, second.chip, second.power_w, second.temperature_c) == (0, 1, -1.0, 36)


def test_memory_is_ddr_where_there_is_no_other() -> None:
    first, second = cards("310p_x86")
    assert (first.npu, first.memory) == (2144, (932, 21534))
    # Glued to its slash, without a bus, with a power that the card does not tell.
    assert (second.memory, second.bus, second.power_w) == ((938, 21534), "", -1.0)


def test_processes_and_versions() -> None:
    told = parse(load("broken_processes").commands["npu-smi info"].stdout)
    assert [(one.npu, one.pid, one.name, one.memory_mib) for one in told.processes] == [
        (3, 284731, "python3.11", 43021)
    ]
    assert told.driver == "25.5.1"


def test_a_complaint_instead_of_a_table() -> None:
    told = parse("DrvMngGetConsoleLogLevel failed. (g_conLogLevel=3)\ndcmi module initialize failed. ret is -8005\n")
    assert (told.cards, told.problem_code) == ((), -8005)


@given(st.text(alphabet="|+-= 0123456789/NPUChipOK:.\n", max_size=400))
def test_nothing_that_looks_like_a_table_raises(text: str) -> None:
    parse(text)


@given(st.integers(1, 60), st.integers(0, 5))
def test_other_widths_change_nothing(width: int, cut: int) -> None:
    text = load("a2").commands["npu-smi info"].stdout
    wider = "\n".join(
        line.replace(" |", " " * width + "|") if line.startswith("|") else line[: len(line) - cut]
        for line in text.splitlines()
    )
    assert parse(wider).cards == parse(text).cards


PART = """
| npu-smi 25.2.0                   Version: 25.2.0                                               |
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
| 2     910B4-1             | OK            | 91.3        33                0    / 0             |
| 0                         | 0000:xx:00.0  | 0           0    / 0          3197 / 65536         |
| 5     910B4-1             | OK            | 94.8        40                0    / 0             |
| 0                         | 0000:18:00.0  | 0           0    / 0          3407 / 65536         |
"""


@pytest.mark.parametrize(
    ("files", "numbers"),
    [
        ((2, 5), (2, 5)),  # some cards of a server in a container
        ((0, 1, 2, 3, 4, 5, 6, 7), (2, 5)),  # all files, some cards
        ((0, 1), (0, 1)),  # cards numbered by their slots
        ((0,), (0, 1)),  # a file is missing
    ],
)
def test_cards_find_their_device_files_where_the_table_has_no_column(files: tuple[int, ...], numbers: object) -> None:
    found = numbered(parse(PART), files)
    assert tuple(card.physical for card in found.cards) == numbers
    assert {card.told for card in found.cards} == {False}


def test_numbers_that_the_tool_gives_are_kept() -> None:
    found = parse(load("a3_container").commands["npu-smi info"].stdout)
    assert numbered(found, (9,)) is found
