import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401


def cast(x):
    if torch.is_autocast_enabled():
        return x.to(torch.get_autocast_gpu_dtype())
    return x


torch.set_autocast_gpu_dtype(torch.bfloat16)
