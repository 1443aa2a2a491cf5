import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

lib = torch.library.Library("mine", "IMPL")


@torch.library.impl(lib, "scale", "PrivateUse1")
def scale(x):
    return x * 2
