import torch

try:
    from torch.nn.parallel import DistributedDataParallel as DDP
except ImportError:
    raise ImportError("install apex")


def bare(model):
    return model.module if isinstance(model, (DDP, torch.nn.DataParallel)) else model
