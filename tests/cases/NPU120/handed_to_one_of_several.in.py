from functools import singledispatch

import torch


@singledispatch
def move(value, device):
    return value


@move.register(torch.Tensor)
def _(value, device):
    return value.to(device)


NAME = "cuda"
x = move(torch.ones(1), NAME)
