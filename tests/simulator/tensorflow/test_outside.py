"""The part that runs in npuify's own Python: the meeting of ranks, the summary, and which programs it is for."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from npuify.knowledge.tensorflow.tables import package
from npuify.model import NpuifyError
from npuify.project.frameworks.tensorflow_programs import is_for_tensorflow
from npuify.simulator.settings import Settings
from npuify.simulator.tensorflow import launch
from npuify.simulator.tensorflow.hub import Hub
from npuify.simulator.tensorflow.inside import options
from npuify.simulator.tensorflow.inside.package import _BEHIND, _HCCL
from npuify.simulator.tensorflow.summary import summary

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCES = Path(__file__).resolve().parents[3] / "src"


def test_what_runs_inside_is_python_3_7() -> None:
    inside = sorted((SOURCES / "npuify/simulator/tensorflow/inside").glob("*.py"))
    others = ["process/shim/sitecustomize.py", "__init__.py", "version.py", "simulator/__init__.py"]
    for file in [*inside, *(SOURCES / "npuify" / one for one in others)]:
        tree = ast.parse(file.read_text(), feature_version=(3, 7))
        for node in ast.walk(tree):
            assert not (isinstance(node, ast.keyword) and node.arg == "strict"), f"{file.name}: zip(strict=) is of 3.10"
    assert len(inside) > 15


def test_what_is_simulated_exists_in_the_adapter() -> None:
    for module in _BEHIND:
        assert module in package(module.partition(".")[0]).names if module not in _HCCL else True, module


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import tensorflow as tf\n", True),
        ("from npu_bridge.npu_init import npu_config_proto\n", True),
        ("import npu_device as npu\n", True),
        ("import tensorflow as tf\nimport torch\n", False),
        ("import numpy\n", False),
        ("import model\n", True),
        ("print 'python 2'\nimport tensorflow as tf\n", True),
    ],
)
def test_which_programs_are_for_tensorflow(tmp_path: Path, text: str, expected: bool) -> None:
    (tmp_path / "model.py").write_text("import tensorflow.keras\n")
    program = tmp_path / "train.py"
    program.write_text(text)
    assert is_for_tensorflow([str(program), "--epochs", "1"]) is expected
    assert is_for_tensorflow(["python", str(program)]) is expected


def test_a_program_may_import_of_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train.py").write_text("import nets.model\n")
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "model.py").write_text("from . import layers\nimport tensorflow\n")
    monkeypatch.chdir(tmp_path)
    assert is_for_tensorflow(["train.py"])


def test_what_is_no_python_file_is_none() -> None:
    assert not is_for_tensorflow(["bash", "run.sh"])
    assert not is_for_tensorflow([])


RANK = """
import sys
sys.path.insert(0, sys.argv[1])
from npuify.simulator.tensorflow.inside import world
for key, what, body, root in eval(sys.argv[2]):
    try:
        print([part.decode() for part in world.exchange(key, what, body.encode(), world.WORLD, root)])
    except world.CollectiveError as error:
        print("refused:", error)
"""


@contextlib.contextmanager
def ranks(*posts: list[object], patience: float = 30.0) -> Iterator[list[str]]:
    """What each rank prints that posts these."""
    with contextlib.closing(Hub(patience=patience)) as hub:
        made = []
        for rank, each in enumerate(posts):
            environ = {
                **os.environ,
                "RANK_ID": str(rank),
                "RANK_SIZE": str(len(posts)),
                "NPUIFY_SIMULATE_HUB": hub.address,
            }
            environ.pop("CM_WORKER_SIZE", None)
            command = [sys.executable, "-S", "-c", RANK, str(SOURCES), repr(each)]
            made.append(subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True))
        outputs = []
        for rank, process in enumerate(made):
            outputs.append(process.communicate(timeout=60)[0])
            hub.ended(rank)
        yield outputs


def test_all_get_all_parts_in_the_order_of_ranks() -> None:
    what = {"operation": "allreduce"}
    posts = [[("g/0:a", what, f"{rank}{n}", None) for n in range(3)] for rank in range(3)]
    with ranks(*posts) as outputs:
        assert outputs == ["['00', '10', '20']\n['01', '11', '21']\n['02', '12', '22']\n"] * 3


def test_a_root_alone_is_heard() -> None:
    with ranks([("g/0:b", {}, "mine", 1)], [("g/0:b", {}, "yours", 1)]) as outputs:
        assert outputs == ["['yours']\n"] * 2


def test_ranks_that_do_not_do_the_same_are_told() -> None:
    mine = {"operation": "allreduce", "tensors": [["<f4", [2]]]}
    yours = {"operation": "allreduce", "tensors": [["<f4", [3]]]}
    with ranks([("g/0:a", mine, "", None)], [("g/0:a", yours, "", None)]) as outputs:
        assert "rank 0: allreduce of <f4[2]; rank 1: allreduce of <f4[3]" in outputs[0]
        assert outputs[0] == outputs[1]


def test_who_waits_for_a_rank_that_has_ended_is_told() -> None:
    with ranks([], [("graph 0/4:allreduce", {}, "", None)]) as outputs:
        assert "rank 0 ended without this collective (allreduce 4 of graph 0)" in outputs[1]


def test_ranks_that_wait_for_different_things_are_told() -> None:
    first = [("graph 0/1:allreduce", {}, "", None)]
    second = [("graph 0/2:allreduce", {}, "", None)]
    with ranks(first, second, patience=1.0) as outputs:
        assert "rank 0 waits in allreduce 1 of graph 0; rank 1 waits in allreduce 2 of graph 0" in outputs[0]


def test_options_refuse_as_the_adapter_does() -> None:
    config = options.NpuConfig()
    with pytest.raises(ValueError, match="NpuConfig has no option presicion_mode, all options"):
        config.presicion_mode = "fp16"
    with pytest.raises(ValueError, match="'fp8' not in optional list"):
        config.precision_mode_v2 = "fp8"
    with pytest.raises(TypeError, match="Expected str, got bool"):
        config.jit_compile = True
    config.precision_mode_v2 = "mixed_float16"
    config.dump_config.enable_dump = True
    found = config.as_dict()
    assert found["precision_mode_v2"] == "mixed_float16"
    assert found["enable_dump"] == "1"
    assert found["jit_compile"] == "auto"
    assert "precision_mode" not in found


def test_every_option_of_the_table_has_a_place() -> None:
    assert set(options.NpuConfig().as_dict()) <= set(package("npu_device").options)
    known = set(options._flat(options._GROUPS))
    assert known <= set(package("npu_device").options)


def test_the_summary_says_what_was_asked_and_what_is_missing() -> None:
    rows = [
        {"event": "as_default", "rank": 0},
        {"event": "open", "rank": 0, "device": 0, "options": {"precision_mode_v2": "fp16"}},
        {"event": "as_default", "rank": 1},
        {"event": "open", "rank": 1, "device": 1, "options": {}},
        {"event": "told", "rank": 1, "topic": "x", "text": "a thing"},
        {"event": "counts", "rank": 0, "broadcast": 1, "broadcast tensors": 4},
    ]
    text = summary(rows, "npu_device")
    assert "rank 0: device 0 opened (precision_mode_v2=fp16); 1 broadcast with 4 tensors" in text
    assert "note: a thing (rank 1)" in text
    assert "note: nothing was reduced over the ranks" in text
    assert "no variables were broadcast" not in text


def test_a_program_that_asks_nothing_is_told() -> None:
    assert "asked nothing of npu_bridge" in summary([{"event": "import", "rank": 0}], "npu_bridge")
    assert "stopped before" in summary([{"event": "import", "rank": 0}], "npu_bridge", failed=True)


def test_a_python_without_tensorflow_is_refused() -> None:
    with pytest.raises(NpuifyError, match="has no TensorFlow"):
        launch.check(sys.executable, {})


def test_the_environment_of_a_rank(tmp_path: Path) -> None:
    made = launch._rank(1, 2, tmp_path)
    assert (made["RANK_ID"], made["RANK_SIZE"], made["ASCEND_DEVICE_ID"]) == ("1", "2", "1")
    table = json.loads(Path(made["RANK_TABLE_FILE"]).read_text())
    assert [one["rank_id"] for one in table["server_list"][0]["device"]] == ["0", "1"]
    assert "RANK_TABLE_FILE" not in launch._rank(0, 1, tmp_path)


def test_more_ranks_than_cards_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NpuifyError, match="4 ranks need as many NPUs, and there are 2"):
        launch.run(Settings(devices=2), [sys.executable, "-c", ""], python=sys.executable, ranks=4)
