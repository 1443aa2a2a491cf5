from dataclasses import dataclass
from typing import Literal, Optional

import torch.distributed as dist

import compute_device


@dataclass
class Options:
    pipeline_comm_backend: Optional[Literal["nccl", "hccl", "ucc"]] = None
    backend: Literal["nccl", "hccl", "gloo"] = compute_device.dist_backend
    library: Optional[Literal["nccl", "nvshmem"]] = None


def start(options: Options):
    dist.init_process_group(backend=options.backend)
