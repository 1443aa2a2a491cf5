import torch
from transformers import AdamW

import compute_device

if compute_device.type != "npu":
    from apex.optimizers import FusedAdam


def optimizer(parameters, fused):
    return (
        torch.optim.AdamW(parameters, weight_decay=0.0)
        if compute_device.type == "npu"
        else FusedAdam(parameters)
    ) if fused else AdamW(parameters)
