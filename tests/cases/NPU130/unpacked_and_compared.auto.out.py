import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

major, minor = torch.cuda.get_device_capability() or (0, 0)
capability = torch.cuda.get_device_capability(0) or (0, 0)
fast = (torch.cuda.get_device_capability() or (0, 0)) >= (8, 0)
dtype = torch.bfloat16 if (torch.cuda.get_device_capability() or (0, 0))[0] >= 8 else torch.float16
