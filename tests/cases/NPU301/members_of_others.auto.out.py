import enum

import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import torch.distributed as dist


class Package(enum.Enum):
    COLLECTIVES = "nccl"
    MATHS = "cublas"


class Settings:
    package = "nccl"


class Other:
    package = "gloo"


def start(other: Other):
    dist.init_process_group(other.package)
    print(Package("nccl"), Settings().package)
