"""Synthetic data, and samplers that can resume in the middle of an epoch and show each validation sample once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.utils.data import DataLoader, Dataset, Sampler

if TYPE_CHECKING:
    from collections.abc import Iterator

    from training_project.config import Config
    from training_project.processes import Process

Key = tuple[int, int]
"""Epoch and index. A sample's noise depends on these two only, so that a resumed run sees the same data."""


class Majority(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Sequences of tokens; the label is their most frequent token."""

    def __init__(self, size: int, length: int, vocabulary: int, noise: float, seed: int) -> None:
        self.size, self.length, self.vocabulary, self.noise, self.seed = size, length, vocabulary, noise, seed

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, key: Key) -> tuple[torch.Tensor, torch.Tensor]:
        epoch, index = key
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + index)
        label = torch.randint(self.vocabulary, (), generator=generator)
        tokens = torch.randint(self.vocabulary, (self.length,), generator=generator)
        tokens[torch.rand(self.length, generator=generator) < 0.3] = label
        if self.noise:
            generator.manual_seed((self.seed + 7919 * (epoch + 1)) * 1_000_003 + index)
            replaced = torch.rand(self.length, generator=generator) < self.noise
            tokens = torch.where(replaced, torch.randint(self.vocabulary, (self.length,), generator=generator), tokens)
        return tokens, label


class TrainingSampler(Sampler[Key]):
    """A different order for each epoch, split among the processes, which can be entered at any step.

    ``samples_per_step`` is what all processes together see between two steps of the optimizer. The tail of an epoch
    that fills no step is left out, so that shapes stay the same; it is another tail in each epoch.
    """

    def __init__(self, size: int, samples_per_step: int, process: Process, seed: int) -> None:
        self.size, self.samples_per_step, self.process, self.seed = size, samples_per_step, process, seed
        self.steps = size // samples_per_step
        self.epoch = self.first_step = 0

    def enter(self, epoch: int, first_step: int) -> None:
        """What the next iteration gives."""
        self.epoch, self.first_step = epoch, first_step

    def __iter__(self) -> Iterator[Key]:
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        order = torch.randperm(self.size, generator=generator).tolist()
        first, last = self.first_step * self.samples_per_step, self.steps * self.samples_per_step
        for index in order[first + self.process.rank : last : self.process.world_size]:
            yield self.epoch, index

    def __len__(self) -> int:
        return (self.steps - self.first_step) * self.samples_per_step // self.process.world_size


class ValidationSampler(Sampler[Key]):
    """Each sample once over all processes. Shares may differ by one sample, so nothing collective may run per batch."""

    def __init__(self, size: int, process: Process) -> None:
        self.indices = range(process.rank, size, process.world_size)

    def __iter__(self) -> Iterator[Key]:
        return ((-1, index) for index in self.indices)

    def __len__(self) -> int:
        return len(self.indices)


def loaders(config: Config, process: Process) -> tuple[DataLoader, TrainingSampler, DataLoader]:
    """The training loader with its sampler, and the validation loader.

    Raises:
        ValueError: there are fewer samples than one step needs.
    """
    data, train = config.data, config.train
    common = {
        "batch_size": train.batch_size,
        "num_workers": data.workers,
        "pin_memory": process.device.type != "cpu",
        "persistent_workers": data.workers > 0,
    }
    samples_per_step = train.batch_size * train.accumulation * process.world_size
    training = Majority(data.samples, data.length, data.vocabulary, data.noise, train.seed)
    sampler = TrainingSampler(len(training), samples_per_step, process, train.seed)
    if not sampler.steps:
        raise ValueError(f"{len(training)} samples do not fill one step of {samples_per_step}")
    validation = Majority(data.validation_samples, data.length, data.vocabulary, 0.0, train.seed + 1)
    # Loaders draw seeds for their workers; with their own generators they leave the program's random numbers alone.
    return (
        DataLoader(training, sampler=sampler, generator=torch.Generator(), **common),
        sampler,
        DataLoader(
            validation, sampler=ValidationSampler(len(validation), process), generator=torch.Generator(), **common
        ),
    )
