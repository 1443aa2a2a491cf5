import torch
import torch_npu  # noqa: F401


def capability(device):
    print(f"{torch.npu.get_device_capability(device)}")
    return torch.npu.get_device_capability(device) or (0, 0)
