"""Scripts under ``npuify simulate``: programs with hccl find each other over two machines on one, and by torch_npu_run."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from npuify.knowledge import choose_release
from npuify.launch.job import job
from npuify.launch.launch import launch

from .conftest import free_port, needs_bash

pytestmark = [
    needs_bash,
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"),
    pytest.mark.skipif(not any(map(shutil.which, ("g++", "clang++", "c++"))), reason="no C++ compiler"),
]
SOURCE = Path(__file__).parents[2] / "src"
PROGRAM = """
import os, torch, torch_npu
import torch.distributed as dist
card = int(os.environ["LOCAL_RANK"])
torch.npu.set_device(card)
dist.init_process_group("hccl")
value = torch.ones(1, device=f"npu:{card}") * (dist.get_rank() + 1)
dist.all_reduce(value)
print("rank", dist.get_rank(), "of", dist.get_world_size(), "card", card, "sum", value.item())
dist.destroy_process_group()
"""


def start(script: Path, **more: str) -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if "RANK" not in name and name != "PYTHON"}
    environment.update(PYTHONPATH=str(SOURCE), OMP_NUM_THREADS="1", **more)
    return subprocess.Popen(
        [sys.executable, "-m", "npuify", "simulate", "--devices=2", "bash", str(script)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("method", "nodes"), [("shell", 2), pytest.param("torch_npu_run", 1, marks=pytest.mark.thorough)]
)
def test_ranks_meet(tmp_path: Path, method: str, nodes: int) -> None:
    entry = tmp_path / "train.py"
    entry.write_text(PROGRAM)
    made = job(
        str(entry),
        method=method,
        cards=1,
        nodes=nodes,
        master="127.0.0.1",
        port=free_port(),
        folder=tmp_path,
        release=choose_release(None, None),
    )
    result = launch(made, tmp_path / "launch")
    assert result.complete
    running = [
        start(tmp_path / "launch" / "run.sh", NODE_RANK=str(node), LOG_DIR=str(tmp_path / f"logs{node}"))
        for node in range(nodes)
    ]
    for process in running:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, out + err
    logs = "".join(path.read_text() for path in tmp_path.glob("logs*/**/*") if path.is_file())
    for rank in range(nodes):
        assert f"rank {rank} of {nodes} card 0 sum {sum(range(1, nodes + 1))}.0" in logs
