import torch

import compute_device


def half(z):
    return z.type() == f"torch.{compute_device.type}.HalfTensor" or z.type() == "torch.HalfTensor"
