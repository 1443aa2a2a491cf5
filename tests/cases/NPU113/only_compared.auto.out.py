import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def half(z):
    return z.type() == "torch.npu.HalfTensor" or z.type() == "torch.HalfTensor"
