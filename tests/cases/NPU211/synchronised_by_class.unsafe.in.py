import torch
import apex.parallel


def wrap(model):
    model = apex.parallel.convert_syncbn_model(model)
    return apex.parallel.DistributedDataParallel(model, message_size=10_000_000, gradient_average=True)
