import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

print(torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"))
torch.set_autocast_enabled("cpu", True)
