"""The ways that need torch, run with a program that does not: two machines on one, a rank that fails, a stop."""

from __future__ import annotations

import importlib.util
import signal
from typing import TYPE_CHECKING

import pytest

from .conftest import alive, eventually, needs_bash

if TYPE_CHECKING:
    from .conftest import Probed

pytestmark = [
    needs_bash,
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"),
]


@pytest.mark.thorough
def test_two_machines_on_one_count_their_ranks_through(probed: Probed) -> None:
    output = probed.write(method="torchrun", nodes=2, cards=1, master="127.0.0.1", arguments=["a b", "$HOME"])
    processes = [
        probed.start(output / "run.sh", "more", NODE_RANK=node, LOG_DIR=str(probed.folder / f"logs{node}"))
        for node in ("0", "1")
    ]
    for process in processes:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, out + err
    told = probed.told()
    assert {rank: (here["LOCAL_RANK"], here["WORLD_SIZE"]) for rank, here in told.items()} == {
        0: ("0", "2"),
        1: ("0", "2"),
    }
    assert told[1]["arguments"] == ["a b", "$HOME", "more"]
    logs = [path.read_text() for path in sorted((probed.folder / "logs1").rglob("*")) if path.is_file()]
    assert any("rank 1 of 2" in log for log in logs)


def test_the_second_machine_of_spawn_counts_on(probed: Probed) -> None:
    output = probed.write(method="spawn", nodes=2, cards=1, master="127.0.0.1", arguments=["a b", "$HOME"])
    code, out, err = probed.run(output / "run.sh", "more", NODE_RANK="1")
    assert code == 0, out + err
    (here,) = probed.told().values()
    assert (here["RANK"], here["LOCAL_RANK"], here["WORLD_SIZE"]) == ("1", "0", "2")
    assert here["arguments"] == ["a b", "$HOME", "more"]
    assert (output / "logs" / "rank_1.log").read_text() == "rank 1 of 2\n"
    assert "rank 1 of 2" in out


@pytest.mark.parametrize("method", [pytest.param("launch", marks=pytest.mark.thorough), "spawn"])
def test_a_rank_that_fails_ends_the_others(probed: Probed, method: str) -> None:
    script = probed.write(method=method, arguments=["--stay"]) / "run.sh"
    code, out, err = probed.run(script, FAILS="1")
    assert code == (7 if method == "spawn" else 1), out + err
    processes = [one for here in probed.told().values() for one in here["processes"]]
    assert len(processes) == 2
    assert eventually(lambda: not any(map(alive, processes)))


def test_stopping_the_script_of_spawn_leaves_no_rank(probed: Probed) -> None:
    script = probed.write(method="spawn", cards=1, arguments=["--stay"]) / "run.sh"
    process = probed.start(script)
    assert eventually(lambda: len(probed.told()) == 1, 60)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=300)
    assert process.returncode == 143
    processes = [one for here in probed.told().values() for one in here["processes"]]
    assert eventually(lambda: not any(map(alive, processes)))
