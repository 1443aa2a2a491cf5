import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
model = torch.nn.Linear(2, 2).cuda()
data = torch.zeros(2).cuda(0, non_blocking=True)
