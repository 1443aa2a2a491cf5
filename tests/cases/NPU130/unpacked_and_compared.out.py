import torch
import torch_npu  # noqa: F401

major, minor = torch.npu.get_device_capability() or (0, 0)
capability = torch.npu.get_device_capability(0) or (0, 0)
fast = (torch.npu.get_device_capability() or (0, 0)) >= (8, 0)
dtype = torch.bfloat16 if (torch.npu.get_device_capability() or (0, 0))[0] >= 8 else torch.float16
