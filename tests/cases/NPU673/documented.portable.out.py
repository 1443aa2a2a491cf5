import torch
x = torch.ones(4)
mask = (x > 0).byte()
y = x.masked_fill(mask.bool(), 0.0)
