import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

model = torch.nn.Linear(2, 2).cuda()
torch.cuda.manual_seed(0)
