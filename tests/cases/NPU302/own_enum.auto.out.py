import enum

import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


class Transport(enum.Enum):
    NCCL = 1
    TCP = 2


print(Transport.NCCL, Transport.TCP)
