import torch
from apex.normalization.fused_layer_norm import FusedLayerNorm, fused_layer_norm_affine


def norm(x, weight, bias):
    layer = FusedLayerNorm(x.shape[-1], eps=1e-6, memory_efficient=True)
    return fused_layer_norm_affine(layer(x), weight, bias, weight.shape)
