import torch
from apex.optimizers import FusedAdam as Adam, FusedSGD


def optimizers(parameters, rate):
    yield Adam(parameters, rate, True, (0.9, 0.98), 1e-6, True, 0.1, False)
    yield FusedSGD(
        parameters,
        lr=rate,  # the rate
        momentum=0.9,
        wd_after_momentum=False,
        materialize_master_grads=True,
    )
