import torch
import torch_npu  # noqa: F401
from torch_npu.contrib import transfer_to_npu  # noqa: F401
if hasattr(torch.cuda, "CUDAGraph"):
    module = getattr(torch, "cuda")
