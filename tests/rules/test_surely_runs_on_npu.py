"""Conditions that hold on every NPU do not keep a program from what stops it there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from npuify.engine.scan import scan
from npuify.options import Options
from npuify.report.verdicts.verdict import Level, judge

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """
import argparse
import torch
from torch import nn
parser = argparse.ArgumentParser()
parser.add_argument("--eval", action="store_true")
parser.add_argument("--no_cuda", action="store_true")
parser.add_argument("--model", default="dgcnn")
args = parser.parse_args()
device = "cuda" if torch.cuda.is_available() else "cpu"
there = not args.no_cuda and torch.cuda.is_available()
net = nn.Linear(1, 1).to(device)
"""


def level(folder: Path, code: str, style: str = "auto") -> Level:
    (folder / "main.py").write_text(HEAD + code)
    result = judge(scan([folder], Options(torch_npu="2.13.0", jobs=1, cache=False, style=style)))
    (program,) = result.programs
    return program.level


@pytest.mark.parametrize(
    "code",
    [
        "net = nn.DataParallel(net)\n",
        "if torch.cuda.is_available():\n    net = nn.DataParallel(net)\n",
        "if device == 'cuda':\n    net = nn.DataParallel(net)\n",
        "if there:\n    net = nn.DataParallel(net)\n",
        (
            "def train(args, net):\n    if args.model == 'pointnet':\n        pass\n    elif args.model == 'dgcnn':\n"
            "        pass\n    else:\n        raise ValueError(args.model)\n    net = nn.DataParallel(net)\n"
            "if not args.eval:\n    train(args, net)\n"
        ),
    ],
)
def test_data_parallel_stops_what_transfer_to_npu_moved(code: str, tmp_path: Path) -> None:
    assert level(tmp_path, code) is Level.WORK


@pytest.mark.parametrize(
    "code",
    [
        "if device == 'cpu':\n    net = nn.DataParallel(net)\n",
        "if torch.cuda.device_count() > 1:\n    net = nn.DataParallel(net)\n",
        "if net.unknown():\n    net = nn.DataParallel(net)\n",
        (
            "def train(args, net):\n    if net.unknown():\n        return\n    net = nn.DataParallel(net)\n"
            "if not args.eval:\n    train(args, net)\n"
        ),
        "same = same\nif same:\n    net = nn.DataParallel(net)\n",
    ],
)
def test_what_is_not_known_to_hold_is_for_review(code: str, tmp_path: Path) -> None:
    assert level(tmp_path, code) is Level.REVIEW


def test_an_option_is_no_review(tmp_path: Path) -> None:
    assert level(tmp_path, "if args.eval:\n    net = nn.DataParallel(net)\n") is Level.RUNS


def test_with_one_card_the_style_npu_runs(tmp_path: Path) -> None:
    assert level(tmp_path, "if device == 'cuda':\n    net = nn.DataParallel(net)\n", style="npu") is Level.RUNS
