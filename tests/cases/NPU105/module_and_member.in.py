import torch

HAS_GRAPHS = hasattr(torch.cuda, "CUDAGraph")
if hasattr(torch, "cuda") and torch.cuda.is_available():
    torch.cuda.synchronize()
