import torch

import compute_device

if compute_device.type != "npu":
    from apex.optimizers import FusedAdam as Adam, FusedSGD


def optimizers(parameters, rate):
    yield (
        torch.optim.AdamW(parameters, rate, (0.9, 0.98), 1e-6, 0.1)
        if compute_device.type == "npu"
        else Adam(parameters, rate, True, (0.9, 0.98), 1e-6, True, 0.1, False)
    )
    yield (
        torch.optim.SGD(
            parameters,
            lr=rate,  # the rate
            momentum=0.9,
        )
        if compute_device.type == "npu"
        else FusedSGD(
            parameters,
            lr=rate,  # the rate
            momentum=0.9,
            wd_after_momentum=False,
            materialize_master_grads=True,
        )
    )
