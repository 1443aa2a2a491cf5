"""One process per card: which one this is, and what it shares with the others."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from training_project import device as devices

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Process:
    """This process among all of them."""

    rank: int
    world_size: int
    device: torch.device

    @property
    def first(self) -> bool:
        """Whether this is the one that writes files."""
        return self.rank == 0

    def sum(self, values: torch.Tensor) -> torch.Tensor:
        """The sum over all processes, on each of them."""
        if self.world_size > 1:
            dist.all_reduce(values)
        return values

    def mean(self, value: torch.Tensor) -> float:
        """The mean over all processes, as a number: waits for the device."""
        return self.sum(value.detach().clone()).item() / self.world_size

    def gather(self, value: Any) -> list[Any]:
        """The values of all processes, by rank."""
        values = [value] * self.world_size
        if self.world_size > 1:
            dist.all_gather_object(values, value)
        return values


@contextmanager
def joined(device: str) -> Iterator[Process]:
    """Join the processes that torchrun started; without it, run alone. The group is left at the end, also on an error.

    Raises:
        RuntimeError: there is no device for this process.
    """
    rank, world_size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    # The card is chosen before anything uses a device, and by LOCAL_RANK: RANK counts over all machines.
    chosen = devices.choose(device, int(os.environ.get("LOCAL_RANK", "0")))
    if world_size > 1:
        dist.init_process_group(devices.backend(chosen))
    try:
        yield Process(rank, world_size, chosen)
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
