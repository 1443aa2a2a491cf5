import torch
print(".".join(map(str, (torch.cuda.nccl.version() if hasattr(torch._C, "_nccl_version") else (0, 0, 0)))))
