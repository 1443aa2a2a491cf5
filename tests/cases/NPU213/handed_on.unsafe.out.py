import torch
from torch.nn import LayerNorm


def block(size, norm=LayerNorm):
    return norm(size)
