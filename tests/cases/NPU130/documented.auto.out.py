import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
major, minor = torch.cuda.get_device_capability() or (0, 0)
fast = (torch.cuda.get_device_capability() or (0, 0))[0] >= 8
