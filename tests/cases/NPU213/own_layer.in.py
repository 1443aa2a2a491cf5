import torch


class FusedLayerNorm(torch.nn.LayerNorm):
    pass


layer = FusedLayerNorm(8)
