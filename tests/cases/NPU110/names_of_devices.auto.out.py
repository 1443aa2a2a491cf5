import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

number = 1
a = torch.ones(1).to("cuda")
b = torch.ones(1).to(device="cuda:1")
c = torch.ones(1).to(f"cuda:{number}")
d = torch.ones(1).cuda(None)
