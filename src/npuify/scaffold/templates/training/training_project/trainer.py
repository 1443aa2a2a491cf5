"""The training loop."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import logging
import math
import random
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

from training_project import checkpoint, monitor, optimization
from training_project import device as devices
from training_project.data import loaders
from training_project.evaluate import evaluate
from training_project.model import Classifier

if TYPE_CHECKING:
    from training_project.config import Config
    from training_project.processes import Process

log = logging.getLogger(__name__)

Batch = tuple[torch.Tensor, torch.Tensor]


class TrainingError(Exception):
    """The run cannot usefully continue; the message says why."""


class Trainer:
    """Everything that belongs to one run."""

    def __init__(self, config: Config, process: Process) -> None:
        self.config, self.process = config, process
        self.output = Path(config.train.output)
        # Parameters start equal on every process; dropout differs between them, see run().
        random.seed(config.train.seed)
        torch.manual_seed(config.train.seed)
        self.loader, self.sampler, self.validation = loaders(config, process)
        # The model is moved before the optimizer takes its parameters.
        self.model = Classifier(config).to(process.device)
        self.dtype = optimization.precision(config.optimization.precision, process.device)
        self.optimizer = optimization.optimizer(self.model, config.optimization)
        self.total_steps = self.sampler.steps * config.train.epochs
        self.schedule = optimization.schedule(self.optimizer, config.optimization, self.total_steps)
        # Loss scaling is for float16 only: bfloat16 has the range of float32.
        self.scaler = devices.grad_scaler(process.device, enabled=self.dtype is torch.float16)
        self.step, self.rate = 0, 0.0
        self.best = math.inf
        self.stop_asked = self.stopping = False
        self.wrapped: Any = self.model

    def autocast(self) -> torch.autocast:
        """Lower precision in the forward pass; the backward pass follows by itself."""
        enabled = self.dtype is not torch.float32
        # Even a disabled autocast checks its type, and does not accept float32.
        return torch.autocast(
            self.process.device.type, dtype=self.dtype if enabled else torch.bfloat16, enabled=enabled
        )

    def run(self, resume: Path | None = None) -> dict[str, float]:
        """Train to the end, from the beginning or from a checkpoint; returns the last validation's numbers.

        Raises:
            TrainingError: the loss is not finite.
            checkpoint.CheckpointError: the checkpoint cannot be used.
        """
        torch.manual_seed(self.config.train.seed + 1 + self.process.rank)
        if resume is not None:
            self.load(resume)
        # Wrapped after loading: names in checkpoints have no "module." before them, and fit one process too.
        if self.process.world_size > 1:
            ids = None if self.process.device.type == "cpu" else [self.process.device.index]
            self.wrapped = DistributedDataParallel(self.model, device_ids=ids, gradient_as_bucket_view=True)
        self.metrics = monitor.Metrics(self.output / "metrics.jsonl", self.process, self.step)
        self.speed = monitor.Speed(self.process)
        log.info("%s, %s, steps %d to %d", self.process.device, self.dtype, self.step, self.total_steps)
        result: dict[str, float] = {}
        with (
            monitor.Profiler(self.config.profile, self.process, self.output / "profile") as profiler,
            self._stoppable(),
        ):
            while self.step < self.total_steps and not self.stopping:
                self._epoch(profiler)
                if self.step % self.sampler.steps == 0:
                    result = self._validate()
                # After the validation, so that a run resumed from here has not missed it.
                self.save()
        if self.stopping:
            log.warning("stopped at step %d; go on with --resume auto", self.step)
        return result

    def _epoch(self, profiler: monitor.Profiler) -> None:
        """Train from the current step to the end of the epoch, or until asked to stop."""
        train = self.config.train
        epoch, first_step = divmod(self.step, self.sampler.steps)
        self.sampler.enter(epoch, first_step)
        self.model.train()
        batches = iter(self.loader)
        for _ in range(first_step, self.sampler.steps):
            loss, norm = self._step(list(itertools.islice(batches, train.accumulation)))
            self.step += 1
            self.speed.add(self.sampler.samples_per_step)
            profiler.step()
            if self.step % train.log_every == 0 or self.step == self.total_steps:
                self._tell(loss, norm)
            if self.stopping:
                break
            if self.step % train.save_every == 0 and self.step % self.sampler.steps:
                self.save()

    def _step(self, batches: list[Batch]) -> tuple[torch.Tensor, torch.Tensor]:
        """One step of the optimizer: the mean loss of this process's batches, and the norm of the gradients."""
        self.optimizer.zero_grad(set_to_none=True)
        total = torch.zeros((), device=self.process.device)
        for number, (tokens, labels) in enumerate(batches, start=1):
            tokens = tokens.to(self.process.device, non_blocking=True)
            labels = labels.to(self.process.device, non_blocking=True)
            # Gradients are averaged over the processes once per step, with those of the last batch.
            last = number == len(batches)
            local = contextlib.nullcontext() if last or self.process.world_size == 1 else self.wrapped.no_sync()
            with local:
                with self.autocast():
                    scores = self.wrapped(tokens)
                loss = F.cross_entropy(scores.float(), labels) / len(batches)
                self.scaler.scale(loss).backward()
            total += loss.detach()
        # Gradients are clipped at their true size.
        self.scaler.unscale_(self.optimizer)
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.optimization.clip_norm)
        scale = self.scaler.get_scale()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.rate = self.schedule.get_last_lr()[0]
        # After an overflow the optimizer did not step, and neither does its schedule. The last step has none after it.
        if self.scaler.get_scale() >= scale and self.step + 1 < self.total_steps:
            self.schedule.step()
        return total, norm

    def _tell(self, loss: torch.Tensor, norm: torch.Tensor) -> None:
        # The one place in the loop that waits for the device; and all processes decide alike, on the same numbers.
        mean = self.process.mean(loss)
        asked = torch.tensor(int(self.stop_asked), dtype=torch.int32, device=self.process.device)
        self.stopping = self.process.sum(asked).item() > 0
        if not math.isfinite(mean):
            raise TrainingError(f"the loss is {mean} at step {self.step}; checkpoints before it are good")
        speed = self.speed.ask()
        peak = devices.peak_memory(self.process.device)
        log.info("step %d loss %.4f norm %.3f lr %.2e, %.0f samples/s", self.step, mean, norm.item(), self.rate, speed)
        self.metrics.write(
            step=self.step,
            loss=mean,
            gradient_norm=norm.item(),
            learning_rate=self.rate,
            samples_per_second=speed,
            peak=peak,
        )

    def _validate(self) -> dict[str, float]:
        result = evaluate(self.model, self.validation, self.process, self.autocast)
        log.info("step %d validation loss %.4f accuracy %.3f", self.step, result["loss"], result["accuracy"])
        self.metrics.write(step=self.step, **{f"validation_{name}": value for name, value in result.items()})
        if result["loss"] < self.best:
            self.best = result["loss"]
            self.save(best=True)
        self.speed.ask()  # validation time is not training time
        return result

    @contextlib.contextmanager
    def _stoppable(self) -> Any:
        """A first SIGTERM or Ctrl-C asks for a checkpoint and a stop at the next log step; a second one ends."""

        def ask(number: int, _frame: object) -> None:
            self.stop_asked = True
            signal.signal(number, before[number])

        before = {number: signal.signal(number, ask) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def save(self, *, best: bool = False) -> None:
        """Write a checkpoint. Every process has to call it: each gives the states of its generators."""
        rng = checkpoint.rng_states(self.process)
        if not self.process.first:
            return
        state = {
            "step": self.step,
            "best": self.best,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "scaler": self.scaler.state_dict(),
            "rng": rng,
            "run": self._run(),
        }
        if best:
            checkpoint.save(state, self.output / "best.pt")
            return
        checkpoint.save(state, checkpoint.path_of(self.output, self.step))
        checkpoint.thin_out(self.output, self.config.train.keep)

    def load(self, path: Path) -> None:
        """Resume from a checkpoint; before the model is wrapped.

        Raises:
            checkpoint.CheckpointError: it cannot be used, or (with ``exact_resume``) not exactly.
        """
        state = checkpoint.load(path)
        differing = [name for name, value in self._run().items() if state["run"].get(name) != value]
        if differing and self.config.train.exact_resume:
            raise checkpoint.CheckpointError(
                f"{path}: the run had other values of {', '.join(differing)}; "
                "to go on all the same, not exactly: train.exact_resume=false"
            )
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        self.scaler.load_state_dict(state["scaler"])
        self.step, self.best = state["step"], state["best"]
        if not differing:
            checkpoint.restore_rng(state["rng"], self.process)
        log.info("resumed from %s at step %d", path, self.step)

    def _run(self) -> dict[str, Any]:
        """What must be the same for a bitwise identical continuation."""
        config, train = self.config, self.config.train
        return {
            "processes": self.process.world_size,
            "device": self.process.device.type,
            "precision": str(self.dtype),
            "total_steps": self.total_steps,
            **{name: getattr(train, name) for name in ("batch_size", "accumulation", "seed")},
            **{name: dataclasses.asdict(getattr(config, name)) for name in ("data", "model", "optimization")},
        }
