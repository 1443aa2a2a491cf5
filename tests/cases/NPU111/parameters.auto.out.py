import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def check(x: torch.Tensor, parameters):
    assert x.is_cuda, "needs a card"
    return any(p.is_cuda for p in parameters) and not x.grad.is_cuda
