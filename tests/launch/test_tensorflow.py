"""Scripts for TensorFlow programs: what their ranks get, and what is said of a program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from npuify.knowledge import choose_release
from npuify.launch.job import job
from npuify.launch.launch import LaunchResult, launch

from .conftest import needs_bash

if TYPE_CHECKING:
    from pathlib import Path

NAMES = (
    "RANK_ID RANK_SIZE RANK_TABLE_FILE ASCEND_DEVICE_ID JOB_ID CM_CHIEF_IP CM_CHIEF_PORT CM_WORKER_SIZE CM_WORKER_IP"
)
PROBE = f"""
import json, os
told = {{name: os.environ.get(name) for name in {NAMES!r}.split()}}
with open(os.environ["PROBE"] + "/" + os.environ["RANK"], "w") as file:
    json.dump(told, file)
"""
GOOD = """
import tensorflow as tf
from npu_bridge.npu_init import *
opt = npu_distributed_optimizer_wrapper(tf.train.AdamOptimizer())
sync = hccl_ops.broadcast(tf.trainable_variables(), 0)
data = tf.data.Dataset.range(8).shard(get_rank_size(), get_rank_id())
"""


def made(folder: Path, text: str, *, cards: int = 2, nodes: int = 1, output: Path | None = None) -> LaunchResult:
    entry = folder / "train.py"
    entry.write_text(text)
    one = job(
        str(entry),
        method="tensorflow",
        release=choose_release(None, None),
        cards=cards,
        nodes=nodes,
        master="10.0.0.1",
        folder=folder,
    )
    return launch(one, output)


def run(folder: Path, **more: str) -> list[Any]:
    told = folder / "told"
    told.mkdir()
    kept = {name: value for name, value in os.environ.items() if name not in NAMES.split()}
    environ = {**kept, "PROBE": str(told), "PYTHON": sys.executable, "NPUIFY_SIMULATE_TENSORFLOW": "1", **more}
    done = subprocess.run(
        ["bash", str(folder / "launch/run.sh")], env=environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(file.read_text()) for file in sorted(told.iterdir())]


@needs_bash
def test_ranks_by_cm_variables(tmp_path: Path) -> None:
    made(tmp_path, PROBE, output=tmp_path / "launch")
    first, second = run(tmp_path, RANK_SIZE="9", RANK_ID="4")
    assert (first["CM_CHIEF_IP"], first["CM_WORKER_SIZE"], first["CM_WORKER_IP"]) == ("10.0.0.1", "2", "10.0.0.1")
    assert (first["RANK_ID"], first["RANK_SIZE"], first["RANK_TABLE_FILE"]) == (None, None, None)
    assert [first["ASCEND_DEVICE_ID"], second["ASCEND_DEVICE_ID"]] == ["0", "1"]
    assert first["JOB_ID"] == "npuify"


@needs_bash
def test_ranks_by_a_rank_table(tmp_path: Path) -> None:
    made(tmp_path, PROBE, nodes=2, output=tmp_path / "launch")
    (tmp_path / "launch/rank_table.json").write_text("{}")
    third, fourth = run(tmp_path, NODE_RANK="1", CM_CHIEF_IP="10.9.9.9", CM_WORKER_SIZE="3")
    assert (third["RANK_ID"], fourth["RANK_ID"], third["RANK_SIZE"]) == ("2", "3", "4")
    assert (third["ASCEND_DEVICE_ID"], fourth["ASCEND_DEVICE_ID"]) == ("0", "1")
    assert third["RANK_TABLE_FILE"] == str(tmp_path / "launch/rank_table.json")
    assert (third["CM_CHIEF_IP"], third["CM_WORKER_SIZE"]) == (None, None)


@needs_bash
def test_one_card_is_no_job_of_several(tmp_path: Path) -> None:
    made(tmp_path, PROBE, cards=1, output=tmp_path / "launch")
    (alone,) = run(tmp_path, RANK_TABLE_FILE="/somewhere", RANK_SIZE="8")
    assert (alone["RANK_SIZE"], alone["RANK_TABLE_FILE"], alone["CM_WORKER_SIZE"]) == (None, None, None)


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_the_scripts_are_clean(tmp_path: Path) -> None:
    made(tmp_path, GOOD, output=tmp_path / "launch")
    files = [str(file) for file in sorted((tmp_path / "launch").glob("*.sh"))]
    done = subprocess.run(["shellcheck", "-x", *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_program_that_is_ready(tmp_path: Path) -> None:
    result = made(tmp_path, GOOD)
    assert result.complete
    assert result.program == ()
    assert "TFPLUGIN_INSTALL_PATH" in result.files["env.sh"]
    assert "torch" not in result.files["env.sh"].partition("\n\n")[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import tensorflow as tf\n", "it imports neither npu_bridge nor npu_device"),
        ("import npu_device\n", "nothing averages gradients"),
        ("import npu_device as npu\nnpu.distribute.all_reduce(1)\n", "nothing broadcasts the variables"),
        ("import npu_device as npu\n", "nothing in it asks for its rank"),
        ("import horovod.tensorflow as hvd\nimport npu_bridge\n", "Horovod starts no ranks on NPUs"),
        ("import os\nimport npu_device\nc = os.environ['TF_CONFIG']\n", "it names TF_CONFIG"),
        ("from mpi4py import MPI\nimport npu_device\n", "it uses MPI"),
    ],
)
def test_what_a_program_lacks(tmp_path: Path, text: str, said: str) -> None:
    result = made(tmp_path, text)
    assert any(said in change.message for change in result.program)


def test_one_card_needs_nothing(tmp_path: Path) -> None:
    assert made(tmp_path, "import npu_device\n", cards=1).complete


SERVERS = "import tensorflow as tf\nfrom npu_bridge.npu_init import *\n\ns = tf.distribute.experimental.ParameterServerStrategy()\n"


@pytest.mark.parametrize("cards", [1, 4])
def test_parameter_servers_are_no_ranks(cards: int, tmp_path: Path) -> None:
    found = made(tmp_path, SERVERS, cards=cards).program
    assert [(one.level, one.line) for one in found] == [("note", 4)]
    found = made(tmp_path, SERVERS + 'os.environ["TF_CONFIG"] = json.dumps(c)\n', cards=cards, nodes=2).program
    assert [(one.level, one.line) for one in found] == [("note", 4), ("must", 0), ("must", 5)]


ROLE = """
import json, os, sys, time
place = json.loads(os.environ["TF_CONFIG"])
with open(os.environ["PROBE"] + "/" + place["task"]["type"] + str(place["task"]["index"]), "w") as file:
    json.dump([place, os.environ["ASCEND_DEVICE_ID"], os.environ.get("RANK_SIZE"), sys.argv[1:]], file)
if place["task"]["type"] == "ps":
    time.sleep(50)
# ParameterServerStrategy()
"""


@needs_bash
def test_each_process_is_told_its_place_in_the_cluster(tmp_path: Path) -> None:
    made(tmp_path, ROLE, cards=3, output=tmp_path / "launch")
    begun = time.monotonic()
    told = run(tmp_path, RANK_SIZE="3", EVALUATOR="7")
    assert time.monotonic() - begun < 40  # the server, which never ends, was ended
    assert [(one[0]["task"], one[1], one[2]) for one in told] == [
        ({"type": "chief", "index": 0}, "0", None),
        ({"type": "evaluator", "index": 0}, "7", None),
        ({"type": "ps", "index": 0}, "0", None),
        ({"type": "worker", "index": 0}, "1", None),
        ({"type": "worker", "index": 1}, "2", None),
    ]
    (cluster,) = {json.dumps(one[0]["cluster"]) for one in told}
    assert json.loads(cluster) == {
        "chief": ["10.0.0.1:29501"],
        "worker": ["10.0.0.1:29502", "10.0.0.1:29503"],
        "ps": ["10.0.0.1:29500"],
    }
