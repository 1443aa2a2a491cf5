import torch
from apex.normalization import FusedRMSNorm as RMSNorm, MixedFusedLayerNorm


class Block(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.first = RMSNorm(size)
        self.second = RMSNorm(size, eps=1e-6, memory_efficient=True)
        self.third = MixedFusedLayerNorm(size)
