import torch
from apex.parallel import DistributedDataParallel as DDP


def wrap(model, size):
    model = DDP(model, message_size=size, delay_allreduce=True, num_allreduce_streams=1, gradient_average=True)
    return model.module
