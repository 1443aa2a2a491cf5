import torch
from transformers import AdamW
from torch.optim import AdamW as FusedAdam


def optimizer(parameters, fused):
    return FusedAdam(parameters, weight_decay=0.0) if fused else AdamW(parameters)
