import enum
from dataclasses import dataclass
from typing import Literal

import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import torch.distributed as dist


class Library(enum.Enum):
    FAST = "nccl"
    SLOW = "gloo"


class Transport(str, enum.Enum):
    CARDS = "nccl"


@dataclass
class Settings:
    collectives: str = "nccl"
    kind: Literal["nccl", "gloo"] = "nccl"


def start(settings: Settings, library: str = Library.FAST.value):
    chosen = settings.collectives
    dist.init_process_group(backend=chosen)
    dist.new_group(backend=Transport.CARDS)
    return dist.init_process_group(library), Library("nccl")
