from dataclasses import dataclass
from typing import Literal, Optional

import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import torch.distributed as dist


@dataclass
class Options:
    pipeline_comm_backend: Optional[Literal["nccl", "ucc"]] = None
    backend: Literal["nccl", "gloo"] = "nccl"
    library: Optional[Literal["nccl", "nvshmem"]] = None


def start(options: Options):
    dist.init_process_group(backend=options.backend)
