from functools import singledispatch

import torch

import compute_device


@singledispatch
def move(value, device):
    return value


@move.register(torch.Tensor)
def _(value, device):
    return value.to(device)


NAME = compute_device.type
x = move(torch.ones(1), NAME)
