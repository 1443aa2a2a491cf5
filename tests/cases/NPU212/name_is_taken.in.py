import torch
from transformers import AdamW
from apex.optimizers import FusedAdam


def optimizer(parameters, fused):
    return FusedAdam(parameters) if fused else AdamW(parameters)
