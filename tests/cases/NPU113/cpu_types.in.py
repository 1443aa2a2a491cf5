import torch

x = torch.zeros(2).type("torch.FloatTensor")
if x.type() == "torch.HalfTensor":
    x = x.float()
