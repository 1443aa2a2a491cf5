import torch

import compute_device


def pick(device_type):
    return torch.float16 if device_type == compute_device.type else torch.float32
