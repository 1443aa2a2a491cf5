import torch
from flash_attn.ops.rms_norm import RMSNorm, rms_norm as norm


class Block(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = RMSNorm(dim)
        self.last = RMSNorm(dim, eps=1e-6)
        self.weight = torch.nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return norm(self.last(self.norm(x)), self.weight, 1e-5)
