import torch
from torch.nn import LayerNorm
from apex.normalization.fused_layer_norm import fused_layer_norm_affine


def norm(x, weight, bias):
    layer = LayerNorm(x.shape[-1], eps=1e-6)
    return fused_layer_norm_affine(layer(x), weight, bias, weight.shape)
