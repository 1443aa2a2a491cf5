import torch
from torch.optim import SGD
from torch.optim import AdamW as Adam


def optimizers(parameters, rate):
    yield Adam(parameters, rate, (0.9, 0.98), 1e-6, 0.1)
    yield SGD(
        parameters,
        lr=rate,  # the rate
        momentum=0.9,
    )
