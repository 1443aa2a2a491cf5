import torch

version = (torch.cuda.nccl.version() if hasattr(torch._C, "_nccl_version") else (0, 0, 0))
if hasattr(torch._C, "_nccl_version"):
    print(torch.cuda.nccl.version())
