import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def capability(device):
    print(f"{torch.cuda.get_device_capability(device)}")
    return torch.cuda.get_device_capability(device) or (0, 0)
