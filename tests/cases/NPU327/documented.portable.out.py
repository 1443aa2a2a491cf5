import torch
import torch.distributed as dist

import compute_device

total = torch.tensor([3, 0.5], dtype=torch.float32, device=compute_device.type)
dist.all_reduce(total)
