import os

import torch


def make(args, config):
    device = getattr(args, "device", "cuda")
    torch_device = os.environ.get("TORCH_DEVICE", "cuda")
    third = config.get("device", "cuda")
    return torch.device(device), torch_device, third
