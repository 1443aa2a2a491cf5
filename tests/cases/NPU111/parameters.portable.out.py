import torch

import compute_device


def check(x: torch.Tensor, parameters):
    assert x.device.type == compute_device.type, "needs a card"
    return any((p.device.type == compute_device.type) for p in parameters) and not x.grad.device.type == compute_device.type
