import torch
from torch.nn import LayerNorm
from torch.nn import RMSNorm


class Block(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.first = RMSNorm(size, eps=1e-5)
        self.second = RMSNorm(size, eps=1e-6)
        self.third = LayerNorm(size)
