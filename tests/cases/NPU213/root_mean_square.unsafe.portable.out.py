import torch

import compute_device

if compute_device.type != "npu":
    from apex.normalization import FusedRMSNorm as RMSNorm
if compute_device.type == "npu":
    from torch.nn import LayerNorm as MixedFusedLayerNorm
else:
    from apex.normalization import MixedFusedLayerNorm


class Block(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.first = (
            torch.nn.RMSNorm(size, eps=1e-5)
            if compute_device.type == "npu"
            else RMSNorm(size)
        )
        self.second = (
            torch.nn.RMSNorm(size, eps=1e-6)
            if compute_device.type == "npu"
            else RMSNorm(size, eps=1e-6, memory_efficient=True)
        )
        self.third = MixedFusedLayerNorm(size)
