import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def pick(device_type):
    return torch.float16 if device_type == "cuda" else torch.float32
