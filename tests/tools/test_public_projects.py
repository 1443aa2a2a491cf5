"""What the comparison of public projects with the CPU calls a difference, and that CUDA is the CPU where it is taken for granted."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("numpy")

from tools.public_projects import verdict
from tools.public_projects.__main__ import expanded
from tools.public_projects.page import BEGIN, END, needed, page_with, table
from tools.public_projects.trial import (
    Outcome,
    Trial,
    TrialError,
    _run,
    _without_folders,
    compare,
    compare_lines,
    prepare,
    run,
    told,
)

from tests.hanging import Hanging

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import torch, torch.distributed as dist
from torch import nn
assert torch.cuda.is_available() and torch.cuda.device_count() == 1
dist.init_process_group("nccl", init_method="tcp://127.0.0.1:0", rank=0, world_size=1)
torch.cuda.set_device(0)
model = nn.parallel.DistributedDataParallel(nn.Linear(4, 2).cuda(), device_ids=[0])
scaler = torch.cuda.amp.GradScaler(enabled=False)
data = torch.utils.data.TensorDataset(torch.randn(8, 4))
for step, (x,) in enumerate(torch.utils.data.DataLoader(data, 4, shuffle=True, pin_memory=True)):
    x = x.to("cuda:0", non_blocking=True) + torch.zeros(4, device="cuda") + torch.ones(1).to(0) + torch.ones(1).cuda(0)
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(x).square().mean()
    assert loss.dtype is torch.float32
    scaler.scale(loss).backward()
    torch.cuda.synchronize()
    print(f"step {step} loss {loss.item():.3f}, 0.5 s, max mem: 1.0 GB")
"""


def outcome(cpu: list[list[float]], npu: list[list[float]]) -> Outcome:
    made = Outcome("x", len(cpu), "npu")
    compare(made, cpu, npu)
    return made


def test_losses_within_the_tolerance_agree() -> None:
    found = outcome([[1.0, 2.0], [3.0, float("nan")]], [[1.0, 2.00001], [3.0, float("nan")]])
    assert not found.problem and found.losses == 2 and found.apart == pytest.approx(5e-6, rel=1e-3)


@pytest.mark.parametrize(
    ("cpu", "npu", "said"),
    [
        ([[1.0, 2.0]], [[1.0, 2.0001]], "rank 0, backward 1: 2.0001, on the CPU 2.0"),
        ([[1.0, 2.0]], [[1.0, float("nan")]], "backward 1: nan"),
        ([[1.0, 2.0], [1.0, 2.0]], [[1.0, 2.0], [1.0]], "rank 1 called backward 1 times, 2 times on the CPU"),
        ([[0.0, 0.0]], [[0.0, 0.0]], "tells nothing"),
    ],
)
def test_what_fails(cpu: list[list[float]], npu: list[list[float]], said: str) -> None:
    assert said in outcome(cpu, npu).problem


def test_times_and_memory_are_no_part_of_a_line() -> None:
    assert told("epoch 1 | loss 2.50 | 12.3 ms/batch\rloss: 1.25e-3 (0.75)  time: 0.12  max mem: 812.5\nlr 0.1\n") == [
        (2.5,),
        (0.00125, 0.75),
    ]
    found = Outcome("x", 1, "npu")
    compare_lines(found, "loss 1.5\nloss 2.5\n", "loss 2.5\nloss 1.6\n")
    assert (found.lines, found.same_lines) == (2, 1)


def test_a_program_that_trains_nothing_has_to_print_the_same() -> None:
    found = Outcome("x", 1, "npu")
    compare(found, [], [])
    compare_lines(found, "score 1.5\non cuda:0 2.5 s", "score 1.6\nnpuify: simulating\non npu:0 2.7 s", every=True)
    assert found.problem == "1 of 2 printed lines are the same"
    assert told("score 1.5\n") == [] and told("score 1.5\n", every=True) == [("score 1.5",)]


FINDINGS = [
    {"file": "a.py", "line": 3, "end_line": 4, "safety": "manual", "severity": "error"},
    {"file": "a.py", "line": 9, "end_line": 9, "safety": "manual", "severity": "info"},
    {"file": "a.py", "line": 12, "end_line": 12, "safety": "safe", "severity": "error"},
]


@pytest.mark.parametrize(
    ("level", "problem", "place", "said"),
    [
        ("runs", "", None, ""),
        ("review", "", None, ""),
        ("blocked", "", None, "scan says blocked, and it runs"),
        ("work", "", None, "scan says work, and it runs"),
        ("runs", "ended with 1", ("a.py", 3), "scan says runs, and it does not"),
        ("review", "ended with 1", ("a.py", 4), ""),
        ("blocked", "ended with 1", ("b.py", 1), ""),
        ("review", "ended with 1", ("a.py", 9), "no finding names a.py:9, where it stops"),
        ("work", "ended with 1", ("a.py", 12), "no finding names a.py:12, where it stops"),
        ("review", "backward 1: 2.0, on the CPU 1.0", None, "differs without stopping"),
    ],
)
def test_a_run_bears_the_verdict_out_or_contradicts_it(
    level: str, problem: str, place: tuple[str, int] | None, said: str, tmp_path: Path
) -> None:
    found = verdict.judge(verdict.Report(level, "program", FINDINGS), problem, place, tmp_path)
    assert said in found and bool(said) == bool(found)
    whole = verdict.judge(verdict.Report(level, "project", FINDINGS), problem, place, tmp_path)
    assert whole == (found if problem else ""), "a project that needs work has programs that run"


def test_a_place_is_named_where_what_is_used_there_comes_from(tmp_path: Path) -> None:
    text = "class A:\n    def f(self):\n        self.x = made()\n        self.y = other()\n\n    def g(self):\n        self.x.sum()\n        self.y.sum()\n"
    (tmp_path / "a.py").write_text(text)
    report = verdict.Report("review", "program", [{**FINDINGS[0], "line": 3, "end_line": 3}])
    assert verdict.named(report, ("a.py", 7), tmp_path)
    assert not verdict.named(report, ("a.py", 8), tmp_path)


def test_the_place_where_a_copy_stopped_is_told_in_the_lines_of_the_original(tmp_path: Path) -> None:
    original, copy = tmp_path / "original", tmp_path / "copy"
    for folder, text in ((original, "import torch\na = 1\nb\n"), (copy, "import torch\nimport torch_npu\na = 1\nb\n")):
        folder.mkdir()
        (folder / "x.py").write_text(text)
    said = f'File "{copy}/x.py", line 4, in <module>\nFile "/site/torch.py", line 9, in f\nNameError\n'
    assert verdict.stops(said, copy, original) == ("x.py", 3)
    assert verdict.stops("Killed", copy, original) is None


def test_a_row_for_several_programs_is_written_once_for_each() -> None:
    made = expanded([{"each": ["a", "b"], "entry": "NAME.py", "shorten": [["NAME.py", "x", "y"]]}, {"entry": "NAME"}])
    assert [row["entry"] for row in made] == ["a.py", "b.py", "NAME"] and made[1]["shorten"] == [["b.py", "x", "y"]]


def test_the_page_names_what_was_needed() -> None:
    program: dict[str, Any] = {"name": "x", "because": "sizes", "on_cpu": "mapped", "stand_ins": ["wandb"]}
    assert needed(program) == "edited in both copies: sizes; a stand-in for wandb; CUDA is the CPU for the original"
    row: dict[str, Any] = {
        "name": "x",
        "style": "npu",
        "processes": 2,
        "losses": 8,
        "apart": 1.2e-7,
        "lines": 3,
        "same_lines": 3,
    }
    row |= {"verdict": "runs", "whose": "program", "contradicted": ""}
    row |= {"problem": ""}
    made = table([program], {"x npu 2": row})
    assert "| x | npu | 2 | runs | 8, 1e-07 | 3 of 3 |" in made
    row |= {"whose": "project", "contradicted": "no", "problem": "a\nb"}
    assert "| runs (project); **no** | **b** |" in table([program], {"x npu 2": row})


def test_programs_of_a_repository_that_came_out_alike_share_a_row() -> None:
    row = {"style": "npu", "processes": 1, "losses": 8, "apart": 0, "lines": 3, "same_lines": 2, "problem": ""}
    row |= {"verdict": "runs", "whose": "program", "contradicted": ""}
    names = ("a/b x", "a/b y", "a/c x")
    results = {name: {**row, "name": name} for name in names}
    results["a/b y"]["apart"] = 2e-7
    made = table([{"name": name} for name in names], results)
    assert "| a/b x; y | npu | 1 | runs | 16, 2e-07 | 4 of 6 | nothing |" in made and "| a/c x | npu" in made
    assert made.startswith("3 programs of 2 repositories in 3 runs; 3 agree with the CPU, 0 do not. 0 contradict")
    assert page_with(f"a\n{BEGIN}\nold\n{END}\nb\n", made) == f"a\n{BEGIN}\n\n{made}\n\n{END}\nb\n"


@pytest.mark.thorough
def test_a_program_that_takes_cuda_for_granted_runs_on_the_cpu(tmp_path: Path) -> None:
    folder = tmp_path / "corpus" / "project"
    folder.mkdir(parents=True)
    (folder / "train.py").write_text(PROGRAM.replace("tcp://127.0.0.1:0", f"file://{tmp_path}/meeting"))
    program = {"name": "x", "project": "project", "entry": "train.py", "on_cpu": "mapped", "arguments": []}
    trial = Trial(
        {**program, "shorten": [["train.py", "nn.Linear\\(4, 2\\)", "nn.Linear(4, 3)"]]}, folder.parent, tmp_path / "w"
    )
    prepare(trial)
    losses, said = run(trial, "original", 1)
    assert len(losses) == 1 and len(losses[0]) == 2
    assert told(said) == [(round(one, 3),) for one in losses[0]]
    migrated = (tmp_path / "w" / "migrated" / "train.py").read_text()
    assert "hccl" in migrated and "nn.Linear(4, 3).npu()" in migrated
    (tmp_path / "meeting").unlink(missing_ok=True)
    again, _ = run(trial, "original", 1)
    assert again == losses, "the same seed"
    with pytest.raises(TrialError, match="nowhere is not in"):
        prepare(Trial({**program, "shorten": [["train.py", "nowhere", ""]]}, folder.parent, tmp_path / "v"))


def test_a_run_that_does_not_end_leaves_no_process(tmp_path: Path) -> None:
    with Hanging(tmp_path) as hanging, pytest.raises(TrialError, match="did not end within 2 s"):
        _run([sys.executable, "-c", hanging.program], tmp_path, dict(os.environ), 2)
    assert not hanging.late()


def test_results_say_nothing_of_the_machine(tmp_path: Path) -> None:
    said = f'File "{tmp_path}/migrated-on-1/main.py", line 3\nFile "{pytest.__file__}", line 9\n'
    assert (
        _without_folders(said, tmp_path) == 'File "migrated-on-1/main.py", line 3\nFile "pytest/__init__.py", line 9\n'
    )


OLD = """
import numpy
import torch
from torch.autograd import Variable
data = torch.utils.data.DataLoader(torch.ones(6, 3), 2)
x = Variable(iter(data).next(), volatile=True)
weight = torch.nn.Parameter(torch.ones(3))
for step in range(100):
    loss = (x * weight).mean() * numpy.float(step + 1)
    loss.backward()
    print(loss.data[0])
"""


def test_a_program_ends_after_its_steps_and_old_forms_are_put_back(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text(OLD)
    program = {"name": "x", "project": "project", "entry": "train.py", "on_cpu": "mapped", "steps": 3}
    trial = Trial({**program, "old": ["torch", "numpy"]}, tmp_path, tmp_path / "w")
    prepare(trial)
    losses, said = run(trial, "original", 1)
    assert losses == [[1.0, 2.0, 3.0]] and "tensor(2." in said
    with pytest.raises(TrialError, match="has no attribute 'next'"):
        run(Trial(program, tmp_path, tmp_path / "w"), "original", 1)
