import enum
from dataclasses import dataclass
from typing import Literal

import torch.distributed as dist
import torch_npu  # noqa: F401


class Library(enum.Enum):
    FAST = "hccl"
    SLOW = "gloo"


class Transport(str, enum.Enum):
    CARDS = "hccl"


@dataclass
class Settings:
    collectives: str = "hccl"
    kind: Literal["hccl", "gloo"] = "hccl"


def start(settings: Settings, library: str = Library.FAST.value):
    chosen = settings.collectives
    dist.init_process_group(backend=chosen)
    dist.new_group(backend=Transport.CARDS)
    return dist.init_process_group(library), Library("hccl")
