import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
def place(x: torch.Tensor) -> str:
    return "card" if x.is_cuda else "host"
