from dataclasses import dataclass
from typing import Literal, Optional

import torch.distributed as dist
import torch_npu  # noqa: F401


@dataclass
class Options:
    pipeline_comm_backend: Optional[Literal["hccl", "ucc"]] = None
    backend: Literal["hccl", "gloo"] = "hccl"
    library: Optional[Literal["nccl", "nvshmem"]] = None


def start(options: Options):
    dist.init_process_group(backend=options.backend)
