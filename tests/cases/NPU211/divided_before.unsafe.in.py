import torch
import apex
from apex.parallel import DistributedDataParallel


def wrap(model, late, world):
    if late:
        return apex.parallel.DistributedDataParallel(model, 10000000, late)
    return DistributedDataParallel(model, delay_allreduce=False, gradient_predivide_factor=world)
