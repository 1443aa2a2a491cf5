"""Tests of the training loop. On the CPU, in a few seconds: python -m pytest"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from training_project import checkpoint, config, data, optimization
from training_project import device as devices
from training_project.evaluate import evaluate
from training_project.processes import Process
from training_project.trainer import Trainer

ROOT = Path(__file__).parents[1]
TINY = ROOT / "configs" / "tiny.yaml"
CPU = Process(0, 1, torch.device("cpu"))
# Dropout draws different numbers for different batches: it is off where runs with different batches are compared.
PLAIN = ["model.dropout=0.0", "optimization.precision=fp32", "train.epochs=1"]


def settings(output: Path, *overrides: str) -> config.Config:
    return config.load(TINY, ["train.device=cpu", f"train.output={output}", *overrides])


def told(output: Path, name: str = "loss") -> list[float]:
    lines = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    return [line[name] for line in lines if name in line]


def parameters(output: Path) -> dict[str, torch.Tensor]:
    newest = checkpoint.newest(output)
    assert newest is not None
    return checkpoint.load(newest)["model"]


def test_it_learns(tmp_path: Path) -> None:
    overrides = ("train.epochs=6", "optimization.learning_rate=0.02", "model.dropout=0.0", "data.noise=0.0")
    result = Trainer(settings(tmp_path, *overrides), CPU).run()
    assert told(tmp_path)[-1] < 0.8 * told(tmp_path)[0]
    assert result["samples"] == 21


@pytest.mark.parametrize(
    ("step", "schedule"),
    [(4, "one-cycle"), (6, "cosine"), (8, "cosine")],
    ids=["in the first epoch", "between epochs", "in the second epoch"],
)
def test_a_resumed_run_goes_on_to_the_bit(step: int, schedule: str, tmp_path: Path) -> None:
    overrides = ("train.save_every=2", "train.keep=100", f"optimization.schedule={schedule}")
    Trainer(settings(tmp_path, *overrides), CPU).run()
    whole, losses, seen = parameters(tmp_path), told(tmp_path), told(tmp_path, "validation_loss")
    for later in tmp_path.glob("step-*.pt"):
        if later > checkpoint.path_of(tmp_path, step):
            later.unlink()
    torch.rand(7)
    random.random()
    Trainer(settings(tmp_path, *overrides), CPU).run(checkpoint.newest(tmp_path))
    assert told(tmp_path) == losses
    assert told(tmp_path, "validation_loss") == seen
    assert all(torch.equal(value, whole[name]) for name, value in parameters(tmp_path).items())


def test_accumulated_batches_are_one_large_batch(tmp_path: Path) -> None:
    for name, batch, accumulation in (("large", 16, 1), ("small", 4, 4)):
        batches = (f"train.batch_size={batch}", f"train.accumulation={accumulation}")
        Trainer(settings(tmp_path / name, *PLAIN, *batches), CPU).run()
    assert told(tmp_path / "small") == pytest.approx(told(tmp_path / "large"), rel=1e-5)


def test_checkpointed_activations_change_no_number(tmp_path: Path) -> None:
    for name in ("true", "false"):
        Trainer(settings(tmp_path / name, f"model.checkpoint_activations={name}"), CPU).run()
    assert told(tmp_path / "true") == told(tmp_path / "false")


def test_two_processes_are_one(tmp_path: Path) -> None:
    Trainer(settings(tmp_path / "one", *PLAIN), CPU).run()
    overrides = [*PLAIN, "train.batch_size=4", "train.device=cpu", f"train.output={tmp_path / 'two'}"]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", "train.py"]
    command += ["--config", str(TINY), *(f"--set={item}" for item in overrides)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    for name in ("loss", "validation_loss", "validation_samples"):
        assert told(tmp_path / "two", name) == pytest.approx(told(tmp_path / "one", name), rel=1e-4)
    one, two = parameters(tmp_path / "one"), parameters(tmp_path / "two")
    for name, value in one.items():
        # The keys' bias shifts all scores of a query alike: its gradient is rounding alone, of
        # which Adam makes whole steps.
        tolerance = 1e-3 if name.endswith("qkv.bias") else 1e-5
        assert torch.allclose(value, two[name], rtol=1e-3, atol=tolerance), name


def test_each_sample_is_seen_once() -> None:
    shares = [Process(rank, 3, torch.device("cpu")) for rank in range(3)]
    validated = [index for share in shares for _, index in data.ValidationSampler(20, share)]
    assert sorted(validated) == list(range(20))
    trained = [index for share in shares for _, index in data.TrainingSampler(25, 6, share, seed=3)]
    assert len(set(trained)) == len(trained) == 24


def test_validation_leaves_the_model_as_it_was(tmp_path: Path) -> None:
    trainer = Trainer(settings(tmp_path), CPU)
    trainer.model.train()
    first = evaluate(trainer.model, trainer.validation, CPU, trainer.autocast)
    assert trainer.model.training
    assert first == evaluate(trainer.model, trainer.validation, CPU, trainer.autocast)


def test_a_stopped_run_leaves_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, step = signal.getsignal(signal.SIGTERM), Trainer._step

    def interrupted(self: Trainer, batches: list) -> tuple:
        if self.step == 2:
            signal.raise_signal(signal.SIGTERM)
        return step(self, batches)

    monkeypatch.setattr(Trainer, "_step", interrupted)
    Trainer(settings(tmp_path), CPU).run()
    assert checkpoint.newest(tmp_path) == checkpoint.path_of(tmp_path, 3)
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_checkpoint_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = checkpoint.path_of(tmp_path, 1)
    checkpoint.save({"step": 1}, path)

    def fails(state: object, file: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(torch, "save", fails)
    with pytest.raises(OSError):
        checkpoint.save({"step": 2}, path)
    assert checkpoint.load(path)["step"] == 1
    assert list(tmp_path.iterdir()) == [path]


def test_a_damaged_or_other_checkpoint_is_refused(tmp_path: Path) -> None:
    (tmp_path / "step-000000001.pt").write_bytes(b"half")
    with pytest.raises(checkpoint.CheckpointError):
        checkpoint.load(tmp_path / "step-000000001.pt")
    Trainer(settings(tmp_path / "run", *PLAIN), CPU).run()
    newest = checkpoint.newest(tmp_path / "run")
    assert newest is not None
    with pytest.raises(checkpoint.CheckpointError, match="accumulation"):
        Trainer(settings(tmp_path / "other", *PLAIN, "train.accumulation=1"), CPU).run(newest)


def test_the_schedule_warms_up_and_ends_low() -> None:
    for kind in ("cosine", "one-cycle"):
        chosen = config.Optimization(schedule=kind, warmup_steps=5, learning_rate=1.0)
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0, momentum=0.9)
        schedule = optimization.schedule(optimizer, chosen, 50)
        rates = []
        for _ in range(50):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            if len(rates) < 50:
                schedule.step()
        assert max(rates) == pytest.approx(1.0, rel=1e-3)
        assert 4 <= rates.index(max(rates)) <= 6
        assert rates[0] < 0.3
        assert rates[-1] < 0.01


def test_the_profiler_writes_a_trace(tmp_path: Path) -> None:
    Trainer(settings(tmp_path, *PLAIN, "profile.start=1", "profile.steps=2"), CPU).run()
    assert any((tmp_path / "profile").rglob("*.json*"))


@pytest.mark.parametrize("override", ["train.batchsize=3", "train.epochs=0", "train.epochs=two", "model.heads=5", "x"])
def test_a_wrong_setting_is_an_error(override: str, tmp_path: Path) -> None:
    with pytest.raises(config.ConfigError):
        settings(tmp_path, override)


def test_the_cpu_computes_in_float32_unless_asked() -> None:
    assert optimization.precision("auto", torch.device("cpu")) is torch.float32
    assert optimization.precision("bf16", torch.device("cpu")) is torch.bfloat16
    assert not devices.grad_scaler(torch.device("cpu"), enabled=False).is_enabled()
