import torch

new = torch.cuda.nccl.version() >= (2, 10)
major = torch.cuda.nccl.version()[0] > 1
