import torch

import compute_device

try:
    if compute_device.type == "npu":
        from torch.nn.parallel import DistributedDataParallel as DDP
    else:
        from apex.parallel import DistributedDataParallel as DDP
except ImportError:
    raise ImportError("install apex")


def bare(model):
    return model.module if isinstance(model, (DDP, torch.nn.DataParallel)) else model
