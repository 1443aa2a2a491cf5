import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def wrap(model, size):
    model = DDP(model, find_unused_parameters=True, broadcast_buffers=False)
    return model.module
