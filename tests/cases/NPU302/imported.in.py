import torch
from torch.distributed import Backend

backend = Backend.NCCL
other = torch.distributed.Backend.NCCL
