"""The script of the shell way, run: ranks, arguments, logs, and that nothing is left when something ends it."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from .conftest import alive, eventually, needs_bash

if TYPE_CHECKING:
    from .conftest import Probed

pytestmark = needs_bash

AWKWARD = ["a b", "c'd", 'e"f', "$HOME", "`id`", "*", "", "--x=1;2", "ü"]


def test_each_rank_has_its_place_its_arguments_and_its_log(probed: Probed) -> None:
    output = probed.write(cards=3, arguments=AWKWARD)
    code, out, err = probed.run(output / "run.sh", "more of it")
    assert code == 0, out + err
    told = probed.told()
    assert sorted(told) == [0, 1, 2]
    for rank, here in told.items():
        assert (here["LOCAL_RANK"], here["WORLD_SIZE"], here["LOCAL_WORLD_SIZE"]) == (str(rank), "3", "3")
        assert here["MASTER_ADDR"] == "127.0.0.1"
        assert here["arguments"] == [*AWKWARD, "more of it"]
        assert (output / "logs" / f"rank_{rank}.log").read_text() == f"rank {rank} of 3\n"
    assert "rank 0 of 3" in out
    assert "rank 1" not in out


def test_ranks_go_on_where_the_machine_before_ends(probed: Probed) -> None:
    script = probed.write(cards=2, nodes=2, master="127.0.0.1") / "run.sh"
    for node in ("0", "1"):
        code, _, err = probed.run(script, NODE_RANK=node)
        assert code == 0, err
    places = {rank: (here["LOCAL_RANK"], here["WORLD_SIZE"]) for rank, here in probed.told().items()}
    assert places == {0: ("0", "4"), 1: ("1", "4"), 2: ("0", "4"), 3: ("1", "4")}
    assert (script.parent / "logs" / "rank_3.log").read_text() == "rank 3 of 4\n"


def test_a_rank_that_fails_ends_the_others_and_their_children(probed: Probed) -> None:
    output = probed.write(cards=3, arguments=["--stay", "--child"])
    code, _, err = probed.run(output / "run.sh", FAILS="1")
    assert code == 7
    assert "rank 1 failed with exit code 7" in err
    assert "this rank fails" in err
    processes = [one for here in probed.told().values() for one in here["processes"]]
    assert len(processes) == 6
    assert eventually(lambda: not any(map(alive, processes)))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_when_the_script_is_stopped_no_rank_goes_on(probed: Probed, number: signal.Signals, code: int) -> None:
    script = probed.write(arguments=["--stay", "--child"]) / "run.sh"
    process = probed.start(script)
    assert eventually(lambda: len(probed.told()) == 2)
    process.send_signal(number)
    process.communicate(timeout=300)
    assert process.returncode == code
    processes = [one for here in probed.told().values() for one in here["processes"]]
    assert eventually(lambda: not any(map(alive, processes)))


def test_the_number_of_cards_is_not_fixed(probed: Probed) -> None:
    script = probed.write(cards=8) / "run.sh"
    code, _, err = probed.run(script, CARDS="2")
    assert code == 0, err
    assert {here["WORLD_SIZE"] for here in probed.told().values()} == {"2"}


def test_without_a_number_the_cards_that_programs_see_take_part(probed: Probed) -> None:
    script = probed.write(cards=None) / "run.sh"
    code, _, err = probed.run(script, ASCEND_RT_VISIBLE_DEVICES="4,6,7")
    assert code == 0, err
    assert sorted(probed.told()) == [0, 1, 2]


def test_cards_of_a_cluster_that_are_not_the_first_are_the_ones_that_programs_see(probed: Probed) -> None:
    script = probed.write(nodes=2, master="10.0.0.1", visible=((4, 5), (6, 7))) / "run.sh"
    code, _, err = probed.run(script, NODE_RANK="1")
    assert code == 0, err
    assert {here["ASCEND_RT_VISIBLE_DEVICES"] for here in probed.told().values()} == {"6,7"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"NODE_RANK": ""}, "NODE_RANK='' is not a number"),
        ({"NODE_RANK": "2"}, "NODE_RANK=2, but the machines are numbered 0 to 1"),
        ({"NODE_RANK": "0", "CARDS": "x"}, "CARDS='x' is not a number"),
        ({"NODE_RANK": "0", "CARDS": "0"}, "no card is seen here"),
        ({"NODE_RANK": "0", "ASCEND_RT_VISIBLE_DEVICES": "3"}, "CARDS=2, but programs see 1 cards here"),
        ({"NODE_RANK": "0", "PYTHON": "no-such-python"}, "there is no no-such-python"),
        ({"NODE_RANK": "0", "NPUIFY_SIMULATE": "", "HOME": "/nowhere", "ASCEND_HOME_PATH": ""}, "no CANN found"),
    ],
)
def test_what_cannot_work_is_said_before_anything_starts(probed: Probed, given: dict[str, str], said: str) -> None:
    script = probed.write(nodes=2, master="127.0.0.1") / "run.sh"
    code, _, err = probed.run(script, **given)
    assert code == 2
    assert said in err
    assert probed.told() == {}


def test_the_vendors_script_has_the_vendors_variables_and_logs(probed: Probed) -> None:
    output = probed.write(method="torchrun", vendor_script=True)
    code, _, err = probed.run(output / "run_distributed_npu.sh")
    assert code == 0, err
    told = probed.told()
    assert [(told[rank]["RANK_ID"], told[rank]["DEVICE_ID"], told[rank]["RANK_SIZE"]) for rank in (0, 1)] == [
        ("0", "0", "2"),
        ("1", "1", "2"),
    ]
    assert (output / "output_npu_1.log").read_text() == "rank 1 of 2\n"
