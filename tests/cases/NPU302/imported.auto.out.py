import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
from torch.distributed import Backend

backend = Backend.NCCL
other = torch.distributed.Backend.NCCL
