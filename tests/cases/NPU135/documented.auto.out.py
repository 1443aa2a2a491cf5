import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
torch.set_default_dtype(torch.float32)
torch.set_default_device("npu")
x = torch.zeros(2)
