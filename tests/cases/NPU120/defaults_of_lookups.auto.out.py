import os

import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def make(args, config):
    device = getattr(args, "device", "cuda")
    torch_device = os.environ.get("TORCH_DEVICE", "cuda")
    third = config.get("device", "cuda")
    return torch.device(device), torch_device, third
