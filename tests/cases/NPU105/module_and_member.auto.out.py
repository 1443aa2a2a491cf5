import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401

HAS_GRAPHS = hasattr(torch.cuda, "CUDAGraph")
if hasattr(torch, "cuda") and torch.cuda.is_available():
    torch.cuda.synchronize()
