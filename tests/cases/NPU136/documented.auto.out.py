import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
torch.set_default_dtype(torch.float32)
torch.set_default_device("npu")
noise = torch.empty(4, 8).normal_()
scale = torch.tensor([1.0, 0.5], dtype=torch.get_default_dtype())
