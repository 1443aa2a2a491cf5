import torch
x = torch.ones(4)
mask = x > 0
rest = ~mask
