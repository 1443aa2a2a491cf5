import torch

def masked(x):
    return torch.where(x > 0, x, torch.tensor(0.0, device=x.device))
