import torch
from apex.optimizers import FusedAdam


def optimizers(parameters):
    yield FusedAdam(parameters, adam_w_mode=False, weight_decay=0.1)
    yield FusedAdam([{"params": parameters}], lr=1e-3)
