import os

import torch

import compute_device


def make(args, config):
    device = getattr(args, "device", compute_device.type)
    torch_device = os.environ.get("TORCH_DEVICE", compute_device.type)
    third = config.get("device", compute_device.type)
    return torch.device(device), torch_device, third
