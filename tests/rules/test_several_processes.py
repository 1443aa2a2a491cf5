"""What runs only in several processes does not decide about a program that is started by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.model import Severity
from npuify.report.verdicts.verdict import Level

from ..harness import findings
from .test_default_options import verdict

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "import argparse, os, sys\nimport torch\nimport torch.distributed as dist\n"
UTILS = """
def is_dist_avail_and_initialized():
    if not dist.is_available():
        return False
    if not dist.is_initialized():
        return False
    return True

def get_world_size():
    if not is_dist_avail_and_initialized():
        return 1
    return dist.get_world_size()

def summed(x):
    if not is_dist_avail_and_initialized():
        return x
    x = torch.tensor([x], dtype=torch.float64, device="cuda")
    dist.all_reduce(x)
    return x
"""
BY_LAUNCHER = """
def start(args):
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        args.rank = int(os.environ["RANK"])
    elif "SLURM_PROCID" in os.environ:
        args.rank = int(os.environ["SLURM_PROCID"])
    else:
        print("one process")
        return
    dist.init_process_group("nccl", rank=args.rank)
"""
IN_ANY_CASE = """
def start(args):
    if "RANK" in os.environ:
        args.rank = int(os.environ["RANK"])
    else:
        args.rank = 0
    dist.init_process_group("nccl", rank=args.rank)
"""
MAIN = "import argparse\nimport utils\nargs = argparse.ArgumentParser().parse_args()\nutils.start(args)\nprint(utils.summed(1))\n"


def test_a_group_that_only_a_launcher_asks_for(tmp_path: Path) -> None:
    found = verdict(tmp_path, utils=HEAD + UTILS + BY_LAUNCHER, main=MAIN)
    assert found.level is Level.RUNS
    (one,) = found.conditional
    assert one.what == "several processes" and {place.file for place in one.places} == {"utils.py"}


@pytest.mark.parametrize(
    "utils",
    [
        HEAD + UTILS + IN_ANY_CASE,
        # Who creates the group is not known.
        HEAD + UTILS + "def start(args):\n    pass\n",
        # DeepSpeed creates one for a single process, too.
        f"import deepspeed\n{HEAD}{UTILS}{BY_LAUNCHER}",
        # The question is the other way round.
        HEAD + UTILS.replace("    if not is_dist_avail_and_initialized():\n        return x\n", "") + BY_LAUNCHER,
        # A function that does more than to ask.
        HEAD
        + UTILS.replace("    return True\n", "    dist.barrier()\n    return True\n").replace(
            "if not dist.is_initialized():\n        return False", "count()"
        )
        + BY_LAUNCHER,
    ],
)
def test_what_a_single_process_may_come_to(utils: str, tmp_path: Path) -> None:
    found = verdict(tmp_path, utils=utils, main=MAIN)
    assert found.level is not Level.RUNS
    assert "several processes" not in [one.what for one in found.conditional]


@pytest.mark.parametrize(
    "condition", ["dist.is_available() and dist.is_initialized()", "get_world_size() > 1", "dist.get_world_size() != 1"]
)
def test_questions(condition: str, tmp_path: Path) -> None:
    code = f"{HEAD}{UTILS}{BY_LAUNCHER}if {condition}:\n    torch.cuda.cudart()\n"
    assert verdict(tmp_path, main=code).level is Level.RUNS


def test_the_edit_of_a_rule_for_review_waits_for_the_option_too(tmp_path: Path) -> None:
    code = (
        HEAD + "parser = argparse.ArgumentParser()\nparser.add_argument('--sum', action='store_true')\n"
        "args = parser.parse_args()\nif args.sum:\n"
        "    x = torch.tensor([1], dtype=torch.float64, device='cuda')\n    dist.all_reduce(x)\n"
    )
    found = verdict(tmp_path, main=code)
    assert found.level is Level.RUNS and [one.what for one in found.conditional] == ["--sum"]


@pytest.mark.parametrize(
    ("between", "severity"),
    [
        ("", Severity.INFO),
        ("print('rank', dist.get_rank(), flush=True)", Severity.INFO),
        ("path.mkdir(parents=True)", Severity.INFO),
        ("torch.manual_seed(0)\n    seed(1)", Severity.INFO),
        ("place = torch.device('cuda', n)", Severity.INFO),
        ("from torchvision import models\n    net = models.__dict__[path]()", Severity.INFO),
        ("dist.barrier()", Severity.WARNING),
        ("unknown()", Severity.WARNING),
        ("place()", Severity.WARNING),
        ("x = model(data)", Severity.WARNING),
    ],
)
def test_a_card_that_is_selected_after_the_group(between: str, severity: Severity) -> None:
    text = (
        f"{HEAD}def seed(n):\n    os.environ['SEED'] = str(n)\n\ndef place():\n    return torch.ones(1).cuda()\n\n"
        f"def setup(n, path, model, data):\n    dist.init_process_group('nccl')\n    {between or 'pass'}\n"
        "    torch.cuda.set_device(n)\n"
    )
    assert [one.severity for one in findings(text) if one.code == "NPU311"] == [severity]


@pytest.mark.parametrize(
    ("first", "behind", "then", "severity"),
    [
        ("", "", "place = card(n)", Severity.INFO),
        ("", "", "card(n)", Severity.INFO),
        ("", "dist.barrier()", "card(n)", Severity.WARNING),
        ("", "", "unknown()\n    card(n)", Severity.WARNING),
        ("", "", "torch.cuda.set_device(n)", Severity.INFO),
        ("card(n)", "", "card(n)", None),
        ("", "", "unknown(n)", None),
    ],
)
def test_a_card_that_another_function_selects(first: str, behind: str, then: str, severity: Severity | None) -> None:
    text = (
        f"{HEAD}def start():\n    dist.init_process_group('nccl')\n    {behind or 'pass'}\n\n"
        "def card(n):\n    torch.cuda.set_device(n)\n    return torch.device('cuda', n)\n\n"
        f"def main(n):\n    {first or 'pass'}\n    start()\n    {then}\n"
    )
    found = [one.severity for one in findings(text) if one.code == "NPU311"]
    assert found == ([] if severity is None else [severity])


@pytest.mark.parametrize(("moved", "level"), [("", Level.RUNS), (".cuda()", Level.REVIEW)])
def test_a_model_of_another_file_between_the_group_and_the_card(moved: str, level: Level, tmp_path: Path) -> None:
    net = (
        "import torch\nfrom torch import nn\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        f"        self.fc = nn.Linear(3, 3){moved}\n\ndef small():\n    return Net()\n"
    )
    main = (
        f"{HEAD}from nets import small\n\ndef main(n):\n    dist.init_process_group('nccl')\n    model = small()\n"
        "    torch.cuda.set_device(n)\n    model.cuda(n)\n\nif __name__ == '__main__':\n    main(0)\n"
    )
    assert verdict(tmp_path, nets=net, main=main).level is level


def test_a_group_that_is_made_where_there_is_none_asks_no_further(tmp_path: Path) -> None:
    start = "\ndef start(args):\n    if not dist.is_initialized():\n        dist.init_process_group('nccl')\n"
    found = verdict(tmp_path, utils=HEAD + UTILS + start, main=MAIN)
    assert found.level is Level.REVIEW
