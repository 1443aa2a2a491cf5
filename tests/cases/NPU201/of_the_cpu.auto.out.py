import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

print(torch.is_autocast_cpu_enabled(), torch.get_autocast_cpu_dtype())
