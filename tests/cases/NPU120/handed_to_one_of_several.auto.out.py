from functools import singledispatch

import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


@singledispatch
def move(value, device):
    return value


@move.register(torch.Tensor)
def _(value, device):
    return value.to(device)


NAME = "cuda"
x = move(torch.ones(1), NAME)
