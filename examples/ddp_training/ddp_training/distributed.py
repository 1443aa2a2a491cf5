"""Process group: one process per GPU."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist


@dataclass(frozen=True)
class World:
    rank: int
    local_rank: int
    size: int
    device: torch.device

    @property
    def is_main(self) -> bool:
        return self.rank == 0


def setup(backend: str, device: str, timeout_minutes: int) -> World:
    local_rank = int(os.environ["LOCAL_RANK"])
    if backend == "nccl" and not torch.cuda.is_available():
        raise SystemExit("the nccl backend needs CUDA devices; use --set distributed.backend=gloo on the CPU")
    if backend == "nccl" and not dist.is_nccl_available():
        raise SystemExit("this PyTorch was built without NCCL")
    if backend == "nccl":
        os.environ.setdefault("NCCL_ASYNC_ERROR_HANDLING", "1")
        torch.cuda.set_device(local_rank)
        place = torch.device(device, local_rank)
    else:
        place = torch.device("cpu")
    dist.init_process_group(backend=backend, timeout=timedelta(minutes=timeout_minutes))
    return World(dist.get_rank(), local_rank, dist.get_world_size(), place)


def barrier(world: World) -> None:
    if dist.get_backend() == "nccl":
        dist.barrier(device_ids=[world.local_rank])
    else:
        dist.barrier()


def mean(value: torch.Tensor) -> float:
    """The mean of ``value`` over all ranks."""
    total = value.detach().clone()
    dist.all_reduce(total, op=dist.ReduceOp.SUM)
    return (total / dist.get_world_size()).item()


def cleanup() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()
