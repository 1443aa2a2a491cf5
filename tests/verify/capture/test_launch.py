"""Programs are captured as users start them, each in a process of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tools.verify_faults.running import PROGRAMS

from npuify.verify.comparison.compare import compare
from npuify.verify.comparison.sources.capture import read

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from npuify.verify.comparison.model import Rank

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"),
    pytest.mark.skipif(importlib.util.find_spec("numpy") is None, reason="NumPy is not installed"),
]
SOURCE = Path(__file__).parents[3] / "src"


def capture(folder: Path, *arguments: str, code: int = 0) -> str:
    """``npuify verify capture -o FOLDER ARGUMENTS``, and what it printed."""
    path = os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH", "")]))
    env = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-m", "npuify", "verify", "capture", "-o", str(folder), *arguments]
    done = subprocess.run(command, env=env, cwd=folder.parent, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def written(folder: Path, text: str) -> str:
    (folder / "program.py").write_text(textwrap.dedent(text), encoding="utf-8")
    return str(folder / "program.py")


RANKS = """
    import os, sys, torch
    from torch import nn
    import torch.distributed as dist

    dist.init_process_group("gloo")
    torch.manual_seed(3)
    net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2)))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(5):
        x = torch.randn(6, 4) + dist.get_rank()
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
        print("step", step, flush=True)
"""


def test_several_ranks_and_the_wrapper_s_prefix(tmp_path: Path) -> None:
    program = written(tmp_path, RANKS)
    said = capture(tmp_path / "a", "--steps", "2", "torchrun", "--standalone", "--nproc_per_node=2", program)
    assert "2 processes, 2 steps" in said
    assert "step 2" not in said, "stopped after two steps"
    found = read(tmp_path / "a")
    assert [rank.rank for rank in found.ranks] == [0, 1]
    names = {call.name for call in found.ranks[0].calls}
    assert names == {"Sequential", "Sequential.0", "Sequential.1", "Sequential.2"}
    inputs = [rank.calls[0].inputs[0].mean for rank in found.ranks]
    assert inputs[0] != inputs[1]
    assert {value.name for value in found.ranks[1].values} >= {"Sequential.0.weight", "Sequential.2.bias"}


@pytest.mark.skipif(not any(map(shutil.which, ("g++", "clang++", "c++"))), reason="no C++ compiler")
def test_the_cpu_and_a_simulated_npu_agree(tmp_path: Path, captures: Mapping[str, Path]) -> None:
    capture(tmp_path / "npu", "--steps", "3", "--device", "simulated", str(PROGRAMS / "gpt.py"), "--device", "npu")
    result = compare(captures["gpt: "], tmp_path / "npu")
    assert result.agrees, result.verdict
    assert result.b.device == "simulated npu"
    assert result.matched > 60
    assert any("not an NPU's accuracy" in remark for remark in result.remarks)
    faulty = compare(captures["gpt: attention scale"], tmp_path / "npu")
    assert faulty.first is not None
    assert faulty.first.name == "GPT.blocks.0.attention"


@pytest.mark.thorough
def test_a_program_without_modules_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    program = written(tmp_path, "import torch\nprint(torch.ones(2).sum())\n")
    said = capture(tmp_path / "a", program, code=2)
    assert "nothing was captured" in said
    assert sorted(one.name for one in tmp_path.iterdir()) == ["program.py"]


def test_operators_an_error_and_a_model_that_is_only_run(tmp_path: Path) -> None:
    program = written(
        tmp_path,
        """
        import torch
        class Net(torch.nn.Module):
            def forward(self, x):
                return torch.relu(x * 2.5).softmax(-1)
        with torch.no_grad():
            Net()(torch.randn(3, 4))
        raise RuntimeError("on purpose")
        """,
    )
    said = capture(tmp_path / "a", "--level", "operator", program, code=1)
    assert "on purpose" in said
    rank = read(tmp_path / "a").ranks[0]
    operators = [call for call in rank.calls if call.operator]
    assert [call.name for call in operators] == ["Net/__mul__", "Net/relu", "Net/softmax"] or [
        call.name for call in operators
    ] == ["Net/mul", "Net/relu", "Net/softmax"]
    assert all(call.place == "program.py:5" for call in operators)
    assert {call.phase for call in rank.calls} == {"eval"}
    assert 2.5 in operators[0].numbers.values()
    assert json.loads((tmp_path / "a" / "capture.json").read_text())["result"]["code"] == 1
    said = capture(tmp_path / "a", program, code=2)
    assert "is not empty" in said


@pytest.mark.thorough
def test_data_parallel_on_several_cards(tmp_path: Path) -> None:
    """Replicas are other modules: on one device the calls are those of the model."""
    program = written(
        tmp_path,
        """
        import sys
        import torch
        if "npu" in sys.argv:
            import torch_npu
        device = sys.argv[1]
        torch.manual_seed(1)
        net = torch.nn.DataParallel(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh()).to(device))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            net(torch.randn(8, 4).to(device)).square().mean().backward()
            optimizer.step()
        """,
    )
    capture(tmp_path / "cpu", program, "cpu")
    capture(tmp_path / "npu", "--device", "simulated", "--devices", "2", program, "npu")
    result = compare(tmp_path / "cpu", tmp_path / "npu")
    assert result.agrees
    assert result.unmatched == (0, 0)
    assert result.matched == 6


def test_a_function_that_gives_no_gradient(tmp_path: Path, capture_all: Callable[..., dict[str, Path]]) -> None:
    """As cuDNN's recurrent functions do for a state that nothing used."""
    program = written(
        tmp_path,
        """
        import torch
        class Both(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.set_materialize_grads(False)
                return x * 2, x * 3
            @staticmethod
            def backward(ctx, first, second):
                assert second is None
                return first * 2
        class Net(torch.nn.Module):
            def forward(self, x):
                return Both.apply(x)
        net = torch.nn.Sequential(torch.nn.Linear(4, 4), Net())
        net(torch.randn(2, 4))[0].sum().backward()
        """,
    )
    rank = read(capture_all({"a": [program]}, tmp_path)["a"]).ranks[0]
    assert sorted(call.name for call in rank.calls) == ["Sequential", "Sequential.0", "Sequential.1"]
    slots = {slot for gradient in rank.gradients for _, slot in gradient.targets}
    assert "output.0" in slots
    assert "output.1" not in slots


def test_half_precision_draws_the_numbers_of_float32(
    tmp_path: Path, capture_all: Callable[..., dict[str, Path]]
) -> None:
    program = written(
        tmp_path,
        """
        import torch
        def drawn(dtype):
            torch.manual_seed(3)
            empty = torch.empty(40, dtype=dtype)
            return [torch.randn(40, dtype=dtype), torch.rand(2, 20, dtype=dtype), torch.rand_like(empty),
                torch.randn_like(empty), empty.clone().normal_(1, 2), empty.clone().uniform_(-1, 1)]
        for half in (torch.bfloat16, torch.float16):
            for whole, rounded in zip(drawn(torch.float32), drawn(half)):
                assert rounded.dtype is half and torch.equal(whole.to(half), rounded), (whole, rounded)
        assert torch.randn(2, dtype=half, requires_grad=True).requires_grad
        torch.nn.Linear(2, 2)(torch.ones(1, 2))
        """,
    )
    assert capture_all({"a": [program]}, tmp_path)


def test_what_is_recorded_of_a_step(captures: Mapping[str, Path]) -> None:
    rank: Rank = read(captures["gpt: loss scaling"]).ranks[0]
    assert [loss.scale for loss in rank.losses] == [4096.0] * 3
    assert all(1 < loss.value < 10 for loss in rank.losses), "without the scale"
    assert len(rank.optimizers) == 3
    assert rank.optimizers[0].groups[0][0]["lr"] == 1e-3
    kinds = {(value.kind, value.when) for value in rank.values}
    assert kinds >= {
        ("parameter", "start"),
        ("gradient", "backward"),
        ("gradient", "used"),
        ("parameter", "after"),
    }
    assert rank.seeds == [7]
    attention = rank.modules["GPT.blocks.0.attention"]
    assert attention.kind == "Attention"
    assert attention.place.startswith("gpt.py:")
