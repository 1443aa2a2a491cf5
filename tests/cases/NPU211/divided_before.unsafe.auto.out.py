import torch
from torch.nn.parallel import DistributedDataParallel


def wrap(model, late, world):
    if late:
        return torch.nn.parallel.DistributedDataParallel(model, find_unused_parameters=late, broadcast_buffers=False)
    return DistributedDataParallel(model, broadcast_buffers=False)
