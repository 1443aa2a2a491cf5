import os

import torch
import torch_npu  # noqa: F401


def make(args, config):
    device = getattr(args, "device", "npu")
    torch_device = os.environ.get("TORCH_DEVICE", "npu")
    third = config.get("device", "npu")
    return torch.device(device), torch_device, third
