import torch

import compute_device

if compute_device.type != "npu":
    from apex.optimizers import FusedAdam


def optimizers(parameters):
    yield (
        torch.optim.Adam(parameters, weight_decay=0.1)
        if compute_device.type == "npu"
        else FusedAdam(parameters, adam_w_mode=False, weight_decay=0.1)
    )
    yield (
        torch.optim.AdamW([{"params": parameters}], lr=1e-3, weight_decay=0.0)
        if compute_device.type == "npu"
        else FusedAdam([{"params": parameters}], lr=1e-3)
    )
