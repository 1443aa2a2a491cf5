import torch
import torch_npu  # noqa: F401
from torch.distributed import Backend

backend = Backend.HCCL
other = torch.distributed.Backend.HCCL
