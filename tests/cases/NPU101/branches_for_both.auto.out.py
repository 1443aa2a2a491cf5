import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "npu":
        torch.npu.synchronize(device)


def peak():
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated()
    if torch.npu.is_available():
        return torch.npu.max_memory_allocated()
    return 0
