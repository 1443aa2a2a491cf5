import torch

number = 1
a = torch.ones(1).cuda("cuda")
b = torch.ones(1).cuda(device="cuda:1")
c = torch.ones(1).cuda(f"cuda:{number}")
d = torch.ones(1).cuda(None)
