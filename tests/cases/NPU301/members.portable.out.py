import enum
from dataclasses import dataclass
from typing import Literal

import torch.distributed as dist

import compute_device


class Library(enum.Enum):
    FAST = compute_device.dist_backend
    SLOW = "gloo"


class Transport(str, enum.Enum):
    CARDS = compute_device.dist_backend


@dataclass
class Settings:
    collectives: str = compute_device.dist_backend
    kind: Literal["nccl", "hccl", "gloo"] = compute_device.dist_backend


def start(settings: Settings, library: str = Library.FAST.value):
    chosen = settings.collectives
    dist.init_process_group(backend=chosen)
    dist.new_group(backend=Transport.CARDS)
    return dist.init_process_group(library), Library(compute_device.dist_backend)
