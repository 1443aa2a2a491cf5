"""Programs that are refused: with the reason, an exit code, and nothing written."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from npuify.cli.app import app
from npuify.distribute.convert import ConversionOptions, is_refused
from npuify.model import NpuifyError
from tests.distribute.conversion import convert, training

pytestmark = pytest.mark.core

REFUSED = {
    "NPU390": [
        """
        import gymnasium as gym
        import torch
        env = gym.make("CartPole-v1")
        policy = torch.nn.Linear(4, 2)
        policy(torch.ones(4)).sum().backward()
        """,
        """
        import torch
        from simulation import World
        world, policy = World(), torch.nn.Linear(4, 2)
        for episode in range(10):
            state, reward, done, info = world.step(policy(torch.ones(4)))
            policy(state).sum().backward()
        """,
    ],
    "NPU391": [
        """
        import torch
        import torch.distributed as dist
        class Gather(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                dist.all_reduce(x)
                return x
            @staticmethod
            def backward(ctx, grad):
                dist.all_reduce(grad)
                return grad
        Gather.apply(torch.ones(2, requires_grad=True)).sum().backward()
        """
    ],
    "NPU392": [
        """
        import torch.distributed as dist
        dist.init_process_group("nccl")
        loss.backward()
        """,
        """
        from torch.nn.parallel import DistributedDataParallel as DDP
        model = DDP(make())
        model(1).backward()
        """,
        """
        import horovod.torch as hvd
        loss.backward()
        """,
        """
        import deepspeed
        engine, *_ = deepspeed.initialize(model=model)
        engine.backward(loss)
        """,
    ],
    "NPU393": [
        """
        import torch.multiprocessing as mp
        def train(rank):
            loss.backward()
        processes = [mp.Process(target=train, args=(rank,)) for rank in range(4)]
        """,
        """
        import torch.multiprocessing as mp
        def train(rank):
            loss.backward()
        mp.spawn(train, nprocs=4)
        """,
        """
        import os, subprocess, sys
        def train():
            loss.backward()
        if len(sys.argv) > 1:
            train()
        for card in range(4):
            subprocess.Popen([sys.executable, __file__, "x"], env={**os.environ, "CUDA_VISIBLE_DEVICES": str(card)})
        """,
    ],
    "NPU394": [
        """
        import torch
        first, second = torch.nn.Linear(2, 2).to("cuda:0"), torch.nn.Linear(2, 2).to("cuda:1")
        second(first(torch.ones(2).to("cuda:0")).to("cuda:1")).sum().backward()
        """
    ],
    "NPU395": ["import torch\nprint(torch.ones(2))\n"],
    "NPU380": [
        "import pytorch_lightning as pl\ntrainer = pl.Trainer(gpus=1)\ntrainer.fit(model)\n",
        "from transformers import Trainer\nTrainer(model=model).train()\n",
        "from pytorch_lightning.trainer import Trainer\nTrainer.from_argparse_args(args).fit(model)\n",
        "from transformers import Trainer\nclass Mine(Trainer):\n    pass\nMine(model=model).train()\n",
        "from accelerate import Accelerator\naccelerator = Accelerator()\naccelerator.backward(loss)\n",
    ],
}


@pytest.mark.parametrize(("code", "program"), [(code, text) for code, texts in REFUSED.items() for text in texts])
def test_refused(tmp_path: Path, code: str, program: str) -> None:
    converted = convert(tmp_path, program)
    assert is_refused(converted.result)
    assert code in converted.left
    assert converted.left[code].message and converted.left[code].advice
    assert converted.result.changed_files == () == converted.result.changes
    assert converted.texts == {}


def test_a_refused_program_ends_with_1_and_writes_nothing(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "train.py").write_text(
        "import torch.distributed as dist\ndist.init_process_group('nccl')\nx.backward()\n"
    )
    before = (source / "train.py").read_bytes()
    target = tmp_path / "target"
    done = CliRunner().invoke(app, ["distribute", str(source), "-o", str(target), "--entry", "train.py"])
    assert done.exit_code == 1
    assert "train.py:2" in done.output and "NPU392" in done.output and "already distributed" in done.output
    assert not target.exists()
    assert (source / "train.py").read_bytes() == before


def test_a_copy_names_what_git_ignores(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / ".git").mkdir(parents=True)
    (source / "runs").mkdir()
    (source / ".gitignore").write_text("runs/\n")
    (source / "train.py").write_text(training())
    (source / "runs" / "old.py").write_text("x.cuda()\n")
    target = tmp_path / "target"
    done = CliRunner().invoke(app, ["distribute", str(source), "-o", str(target), "--entry", "train.py"])
    assert done.exit_code == 0, done.output
    assert "runs" in (target / "npuify-report" / "ignored.txt").read_text()


def test_exit_codes_and_formats(tmp_path: Path) -> None:
    source = tmp_path / "train.py"
    source.write_text(training())
    run = CliRunner().invoke
    assert run(app, ["distribute", str(source), "-o", str(tmp_path / "out")]).exit_code == 0
    assert (tmp_path / "out" / "npu_distributed.py").is_file()
    assert run(app, ["distribute", str(source), "--check"]).exit_code == 1
    shown = run(app, ["distribute", str(source), "--diff"])
    assert "+    model = npu_distributed.wrap(model)" in shown.output
    assert "Would change 1 of 1 file" in shown.output
    assert "and 1 new file" in shown.output
    assert run(app, ["distribute", str(source)]).exit_code == 2
    assert run(app, ["distribute", str(tmp_path), "--check"]).exit_code == 2
    assert run(app, ["distribute", str(tmp_path), "--check", "--entry", "other.py"]).exit_code == 2
    assert '"NPU351"' in run(app, ["distribute", str(source), "--check", "--format", "json"]).output


def test_options_that_exclude_each_other(tmp_path: Path) -> None:
    source = tmp_path / "train.py"
    source.write_text(training())
    command = ["distribute", str(source), "--check", "--scale-lr", "linear", "--global-batch", "keep"]
    assert CliRunner().invoke(app, command).exit_code == 2


def test_a_module_of_the_helpers_name_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(NpuifyError, match="module with this name"):
        convert(tmp_path, training(), ConversionOptions(entry="train.py"), npu_distributed="x = 1\n")


DISTRIBUTED = """
    import argparse
    import os
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    from torch.utils.data import DataLoader, TensorDataset

    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=0)
    args = parser.parse_args()
    dist.init_process_group("nccl")
    model = DistributedDataParallel(torch.nn.Linear(4, 2).cuda())
    loader = DataLoader(TensorDataset(torch.randn(8, 4)), batch_size=4, shuffle=True)
    for epoch in range(2):
        for (x,) in loader:
            model(x.cuda()).sum().backward()
        torch.save(model.module.state_dict(), "model.pt")
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), "last.pt")
    """


def test_a_distributed_program_is_completed_where_that_is_asked_for(tmp_path: Path) -> None:
    assert is_refused(convert(tmp_path, DISTRIBUTED).result)
    converted = convert(tmp_path, DISTRIBUTED, ConversionOptions(entry="train.py", complete=True))
    assert 'default=int(os.environ.get("LOCAL_RANK", 0)))' in converted.text
    assert "npu_distributed.shard(DataLoader(" in converted.text
    assert converted.has("for epoch in range(2):", "npu_distributed.set_epoch(loader, epoch)")
    assert converted.has("if npu_distributed.is_main():", 'torch.save(model.module.state_dict(), "model.pt")')
    assert converted.has("if dist.get_rank() == 0:", 'torch.save(model.module.state_dict(), "last.pt")')
    assert "npu_distributed.setup()" not in converted.text
    messages = " ".join(finding.message for finding in converted.result.left)
    for missing in (
        "selects its card",
        "the group is never destroyed",
        "does not get the model's card",
    ):
        assert missing in messages


def test_a_completed_program_takes_cards_and_imports_what_it_needs(tmp_path: Path) -> None:
    without_os = DISTRIBUTED.replace("    import os\n", "")
    converted = convert(tmp_path / "launched", without_os, ConversionOptions(entry="train.py", complete=True))
    assert converted.has("import os", "import argparse", "import torch")
    spawned = """
        import torch
        import torch.distributed as dist
        import torch.multiprocessing as mp
        from torch.nn.parallel import DistributedDataParallel
        def work(number, count):
            dist.init_process_group("nccl", rank=number, world_size=count)
            model = DistributedDataParallel(torch.nn.Linear(4, 2).to(number))
            model(torch.ones(4).to(number)).sum().backward()
        if __name__ == "__main__":
            mp.spawn(work, args=(2,), nprocs=2)
        """
    converted = convert(tmp_path / "spawned", spawned, ConversionOptions(entry="train.py", complete=True))
    assert converted.has(
        "torch.npu.set_device(number)", 'dist.init_process_group("hccl", rank=number, world_size=count)'
    )
