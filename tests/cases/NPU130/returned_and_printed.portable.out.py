import torch

import compute_device


def capability(device):
    print(f"{compute_device.api.get_device_capability(device)}")
    return compute_device.api.get_device_capability(device) or (0, 0)
