"""What a program needs for a way to start it, and the patch that brings it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from npuify.knowledge import choose_release
from npuify.launch.changes import Change
from npuify.launch.job import job
from npuify.launch.launch import LaunchResult, launch
from npuify.model import NpuifyError

RIGHT = """
import os
import torch
import torch.distributed as dist
torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("hccl")
"""


def made(folder: Path, program: str, torch_npu: str | None = None, output: bool = False, **values: Any) -> LaunchResult:
    (folder / "train.py").write_text(program)
    given = {"method": "torchrun", "cards": 2, "folder": folder, **values}
    if given.get("nodes", 1) > 1:
        given.setdefault("master", "10.0.0.1")
    release = choose_release(torch_npu, None)
    return launch(job(str(folder / "train.py"), release=release, **given), folder / "launch" if output else None)


def messages(result: LaunchResult, level: str = "must") -> list[str]:
    return [change.message for change in result.program if change.level == level]


@pytest.mark.parametrize("method", ["torchrun", "shell", "spawn", "launch", "torch_npu_run"])
def test_a_program_that_reads_its_place_needs_nothing(tmp_path: Path, method: str) -> None:
    result = made(tmp_path, RIGHT, method=method, nodes=2)
    assert result.program == ()
    assert result.complete
    assert "program.patch" not in result.files


@pytest.mark.parametrize(
    "program",
    [
        "from accelerate import Accelerator\n",
        "import helper\n",
        "if __name__ == '__main__':\n    import helper\n",
    ],
)
def test_joining_may_happen_in_a_framework_or_another_file(tmp_path: Path, program: str) -> None:
    (tmp_path / "helper.py").write_text(RIGHT)
    assert made(tmp_path, program).complete


def test_a_single_card_program_is_told_so(tmp_path: Path) -> None:
    result = made(tmp_path, "import torch\nprint(torch.ones(1))\n")
    assert not result.complete
    assert "joins no process group" in messages(result)[0]


def test_nccl_is_not_started(tmp_path: Path) -> None:
    result = made(tmp_path, RIGHT.replace("hccl", "nccl"))
    assert "nccl" in messages(result)[0]


def test_a_program_that_never_asks_for_its_card(tmp_path: Path) -> None:
    result = made(tmp_path, 'import torch.distributed as dist\ndist.init_process_group("hccl")\n')
    assert result.program[0].line == 2
    assert "LOCAL_RANK" in result.program[0].message


@pytest.mark.parametrize(
    "program",
    [
        # As facebookresearch/DiT, timm and mae do.
        RIGHT.replace('int(os.environ["LOCAL_RANK"])', "dist.get_rank() % torch.npu.device_count()"),
        RIGHT.replace('int(os.environ["LOCAL_RANK"])', "card")
        + 'for name in ("LOCAL_RANK", "MPI_LOCALRANKID"):\n    card = int(os.environ.get(name, 0))\n',
        RIGHT + 'if args.itp:\n    os.environ["RANK"] = str(args.rank)\n',
        RIGHT + 'if "MASTER_ADDR" not in os.environ:\n    os.environ["MASTER_ADDR"] = "localhost"\n',
    ],
)
def test_other_ways_to_find_the_card_need_nothing(tmp_path: Path, program: str) -> None:
    assert made(tmp_path, program, nodes=2).program == ()


def test_ranks_of_mpi_are_not_made_by_these_launchers(tmp_path: Path) -> None:
    # As openai/guided-diffusion does.
    program = """import os
from mpi4py import MPI
import torch.distributed as dist
os.environ["RANK"] = str(MPI.COMM_WORLD.rank)
dist.init_process_group("hccl")
"""
    (change,) = made(tmp_path, program).program
    assert (change.level, change.line) == ("must", 2)
    assert "mpiexec" in change.message


ARGUMENT = """import argparse
import torch.distributed as dist
parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=-1)
args = parser.parse_args()
dist.init_process_group("hccl")
"""


@pytest.mark.parametrize("method", ["torchrun", "shell", "spawn", "launch", "torch_npu_run"])
def test_an_argument_that_nobody_passes_gets_its_default_from_the_environment(tmp_path: Path, method: str) -> None:
    result = made(tmp_path, ARGUMENT, method=method, output=True)
    assert not result.complete
    assert mended(tmp_path) == "import os\n" + ARGUMENT.replace(
        "default=-1", 'default=int(os.environ.get("LOCAL_RANK", 0))'
    )


def test_torch_distributed_launch_passes_the_argument_where_it_is_spelt_as_torch_spells_it(tmp_path: Path) -> None:
    result = made(tmp_path, ARGUMENT.replace("--local_rank", "--local-rank"), method="launch")
    assert result.complete
    assert "--use-env" not in result.files["run.sh"]
    assert "--use-env" in made(tmp_path, RIGHT, method="launch").files["run.sh"]


def test_a_default_that_is_computed_is_left_to_a_person(tmp_path: Path) -> None:
    result = made(tmp_path, ARGUMENT.replace("default=-1", "default=pick()"))
    assert messages(result)
    assert "program.patch" not in result.files


GUIDE = """import os
import torch
import torch.distributed as dist
from torch.utils.data.distributed import DistributedSampler

local_rank = int(os.environ["LOCAL_RANK"])
os.environ["MASTER_ADDR"] = "localhost"
dist.init_process_group(backend="hccl", rank=local_rank, world_size=torch.npu.device_count())
sampler = DistributedSampler([], rank=local_rank, num_replicas=torch.npu.device_count())
"""


def test_the_mistakes_of_the_guides_are_mended_for_several_machines(tmp_path: Path) -> None:
    made(tmp_path, GUIDE, nodes=2, output=True)
    assert mended(tmp_path) == GUIDE.replace(
        'os.environ["MASTER_ADDR"] = "localhost"', 'os.environ.setdefault("MASTER_ADDR", "localhost")'
    ).replace("rank=local_rank", 'rank=int(os.environ["RANK"])').replace(
        "torch.npu.device_count()", 'int(os.environ["WORLD_SIZE"])'
    )
    again = made(tmp_path, mended(tmp_path), nodes=2)
    assert again.complete


def test_on_one_machine_they_are_no_mistakes(tmp_path: Path) -> None:
    result = made(tmp_path, GUIDE.replace('os.environ["MASTER_ADDR"] = "localhost"\n', ""))
    assert result.program == ()


def test_a_meeting_point_of_its_own(tmp_path: Path) -> None:
    program = RIGHT.replace('"hccl")', '"hccl", init_method="tcp://127.0.0.1:23456")')
    assert messages(made(tmp_path, program), "check") == [
        "uses the rendezvous address tcp://127.0.0.1:23456 instead of the launcher's"
    ]
    made(tmp_path, program, nodes=2, output=True)
    assert 'init_method="env://"' in mended(tmp_path)
    shutil.rmtree(tmp_path / "launch")
    made(tmp_path, program, method="torch_npu_run", output=True)
    assert 'init_method="env://"' in mended(tmp_path)


def test_older_torch_npu_meets_in_its_store_only_when_asked(tmp_path: Path) -> None:
    result = made(tmp_path, RIGHT, method="torch_npu_run", torch_npu="2.4.0.post4")
    assert "parallel://" in messages(result, "note")[0]
    assert result.complete


SPAWNS = """import torch.multiprocessing as mp
import torch.distributed as dist
def work(card):
    dist.init_process_group("hccl", rank=card, world_size=2)
if __name__ == "__main__":
    mp.spawn(work, nprocs=2)
"""


def test_a_program_that_spawns_is_started_once(tmp_path: Path) -> None:
    result = made(tmp_path, SPAWNS, method="spawn")
    assert "spawn_ranks.py" not in result.files
    assert 'exec "$PYTHON" "${program[@]}" "$@"' in result.files["run.sh"]


@pytest.mark.parametrize(("method", "nodes"), [("torchrun", 1), ("shell", 1), ("spawn", 2)])
def test_a_program_that_spawns_is_refused_elsewhere(tmp_path: Path, method: str, nodes: int) -> None:
    with pytest.raises(NpuifyError, match="for each card itself") as refused:
        made(tmp_path, SPAWNS, method=method, nodes=nodes, output=True)
    assert (refused.value.file, refused.value.line) == ("train.py", 6)
    assert not (tmp_path / "launch").exists()


def test_spawning_on_request_is_to_be_looked_at(tmp_path: Path) -> None:
    program = RIGHT + "import torch.multiprocessing as mp\nif many:\n    mp.spawn(print, nprocs=2)\n"
    assert "mp.spawn conditionally" in messages(made(tmp_path, program), "check")[0]


def test_a_file_that_cannot_be_parsed_is_named(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("print os.environ['RANK']\n")
    result = made(tmp_path, RIGHT + "import helper\n")
    assert result.program == (Change("check", "could not be parsed, and was not checked", "helper.py"),)


def mended(folder: Path) -> str:
    """``train.py`` after its patch, as ``patch`` applies it where there is one."""
    if shutil.which("patch") is None:
        pytest.skip("there is no patch")
    copy = folder / "patched"
    copy.mkdir(exist_ok=True)
    shutil.copy(folder / "train.py", copy)
    subprocess.run(["patch", "-sp1", "-i", str(folder / "launch" / "program.patch")], cwd=copy, check=True)
    return (copy / "train.py").read_text()
