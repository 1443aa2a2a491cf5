import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
import torch.distributed as dist
total = torch.tensor([3, 0.5], dtype=torch.float32, device="cuda")
dist.all_reduce(total)
